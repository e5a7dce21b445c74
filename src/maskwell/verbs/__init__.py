"""What a user asks for, one file a verb: a frame, a path or counts in, a result out."""
