module.exports = require('./support/partOfInit');
