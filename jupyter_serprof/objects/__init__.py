"""What is inside a value and its pickle; asked without running code of the user.

In: any value. Out: kinds, sizes, names, parts, equality, and what cannot be pickled.

>>> import threading
>>> from jupyter_serprof.objects.culprits import find_culprits
>>> [culprit.path for culprit in find_culprits({"rows": [1, 2], "lock": threading.Lock()}, "state")]
["state['lock']"]
"""
