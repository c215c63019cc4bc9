"""What carries messages between coordinator and sites; the only importer of Flower.

Messages      wire (signed, read before anything is believed), flower_message
Sockets       agent_socket, coordinator_socket (what is said over the server's)
Flower        flower (its programs), relay and relay_app (at a site), superlink, one_run and server_app (at the server)
The port      gate (passes the calls of Flower's nodes, and nothing else)
Processes     logs, metrics, stopping
"""
