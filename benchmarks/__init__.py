"""Figures of the library, measured side by side with what they are compared to."""
