const read = require("@vercel/cosmosdb-server/lib/handler/read-document"), inner = read.default;
read.default = (account, req, res, where) => {  // absent item: the package answers 500, the service 404
  try { return inner(account, req, res, where); }
  catch { res.statusCode = 404; return { code: "NotFound", message: "not found" }; }
};
require("@vercel/cosmosdb-server").default().listen(Number(process.argv[2]), "127.0.0.1");
