"""Prices are kept with the payment provider."""
