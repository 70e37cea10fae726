mod first;
