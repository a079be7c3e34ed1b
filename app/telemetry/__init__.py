"""What is said about requests. One `Report` holds what happened in a request, and every sink is
fed from it when the request is over: log lines, metrics, spans, the numbers of the page.

Never prompts, arguments, results, tool texts or keys; queries only where they may be captured.
"""

from app.telemetry.log import configure_logging, log_fault
from app.telemetry.report import Report

__all__ = ["Report", "configure_logging", "log_fault"]
