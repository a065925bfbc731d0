attn-cli run " , ,"
