"""A campaign: what is asked of whom, what was answered, how far it is; however tasks and answers travel.

The record (`records`), the queues (`queues`, `rounds`), the ledger of raw answers (`ledger`), and what is
read from it: judgments (`ledger_judgments`) and progress (`progress`). Nothing here knows a server; what
carries tasks to people and answers back stands above (`labelstudio`).
"""
