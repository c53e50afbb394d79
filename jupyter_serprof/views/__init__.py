"""Views: a document as text, as a picture and as the output of a notebook cell."""
