// Prints the message that an application gets which lacks the packages of Nest.
try {
  require('nestjs-distribute-lock');
} catch ({ message }) {
  console.log(JSON.stringify(message));
}
