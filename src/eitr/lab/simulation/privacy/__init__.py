"""What updates tell about pages: victims who train under a defence, and attackers who look at what they send."""
