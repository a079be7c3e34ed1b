"""What servers and models are known to do on this wire, a test for each public report."""
