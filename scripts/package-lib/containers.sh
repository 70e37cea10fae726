check_containers() { :; }
