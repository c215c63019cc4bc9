"""What joint keys cost: `secure-sapefl bench crypto --keys joint`."""
