"""What every view is made of: tables, bars, remarks, a sheet of marks, one set of colours.

In: texts and numbers. Out: lines of text, marks of a picture.

>>> from jupyter_serprof.views.kit.table import Column, table_lines
>>> columns = [Column("stage", ("Pickle", "Store"), False), Column("ms", ("1", "73"))]
>>> for line in table_lines(columns, 40):
...     print(line)
stage   ms
Pickle   1
Store   73
"""
