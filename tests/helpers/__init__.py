"""What several tests share: graphs with known rules, oracles, random cases, programs and servers."""
