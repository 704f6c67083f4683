"""Hours of use in minutes: random calls and faults over every transport, checked all along."""
