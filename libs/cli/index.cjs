'use strict';

module.exports = require('nestjs-distribute-lock/core');
