const grpc = require("@grpc/grpc-js"), { FirestoreServer } = require("@firestore-emulator/server");
const bind = grpc.Server.prototype.bindAsync;   // the package binds 0.0.0.0
grpc.Server.prototype.bindAsync = function (address, ...rest) {
  return bind.call(this, address.replace(/^.*:/, "127.0.0.1:"), ...rest);
};
new FirestoreServer().start(Number(process.argv[2]));
