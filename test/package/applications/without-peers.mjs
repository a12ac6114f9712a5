// Prints the message that an application gets which lacks the packages of Nest.
await import('nestjs-distribute-lock').catch(({ message }) => console.log(JSON.stringify(message)));
