"""Telling operators something outside the dashboard: messages, and the channels that carry them.

message  what is told, as text
webhook  as JSON to an address of the operator's choice
mail     as e-mail
failures why a message was not delivered
channels which of them the settings ask for
"""
