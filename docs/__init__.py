"""The documentation, and the command that writes its generated parts: `python -m docs`."""
