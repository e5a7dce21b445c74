"""What a user asks for, one verb a file: a frame, a path or counts in, a result out."""
