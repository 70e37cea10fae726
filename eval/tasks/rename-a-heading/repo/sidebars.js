module.exports = { docs: ['intro', 'publish', 'errors'] };
