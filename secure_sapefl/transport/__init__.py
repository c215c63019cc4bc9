"""What carries messages between coordinator and sites; the only importer of Flower.

Messages      wire (signed, read before anything is believed), flower_message
Sockets       agent_socket
Flower        flower (its programs), relay and relay_app (at a site), server_app (at the server)
Processes     logs, metrics, stopping
"""
