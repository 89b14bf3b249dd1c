'use strict';

const vm = require('node:vm');
const { default: JestRuntime } = require('jest-runtime');
const { version } = require('jest-runtime/package.json');

/**
 * What is overridden here is not public. Any other version runs the tests with Jest's own
 * loader, at 1.7 times the CPU for 28 small files. That loader also refuses the import() in
 * packages of Backstage, such as the GitHub module of events, without --experimental-vm-modules.
 */
const TESTED = /^30\.2\./;

// Of this worker process, for all its test files.
const scripts = new Map();
const dependencies = new Map();

/**
 * Jest's module loader, which compiles each module once per worker instead of once per
 * test file, and the CommonJS of dependencies as it is. It still executes every module
 * for each test file: files share no state. With Jest's own loader, half the time of a run
 * of all tests went into reading and compiling the same modules again.
 */
class CachingRuntime extends JestRuntime {
  transformFile(filename, options) {
    // Our own modules may change between two runs of `--watch`. Jest does not transform
    // what it loads for itself.
    if (!filename.includes('/node_modules/') || options?.isInternalModule) {
      return super.transformFile(filename, options);
    }
    let code = dependencies.get(filename);
    if (code === undefined) {
      code = this.readFile(filename);
      if (!this.compile(code, filename)) {
        code = super.transformFile(filename, options);
      }
      dependencies.set(filename, code);
    }
    return code;
  }

  createScriptFromCode(code, filename) {
    // A compiled module can't import() on behalf of more than one test file.
    const script =
      typeof vm.SyntheticModule === 'function'
        ? undefined
        : this.compile(code, filename);
    const context = this._environment.getVmContext();
    return script && context
      ? script.runInContext(context)
      : super.createScriptFromCode(code, filename);
  }

  /** @returns nothing if the code is not that of a CommonJS module */
  compile(code, filename) {
    const known = scripts.get(filename);
    if (known?.code === code) {
      return known.script;
    }
    const parameters = this.constructInjectedModuleParameters().join(',');
    const head = `(function(${parameters}){`;
    try {
      const script = new vm.Script(`${head}${code}\n})`, {
        filename,
        // Stacks name the columns of the code.
        columnOffset: -head.length,
        // What is no CommonJS, such as the client of Kubernetes, Node.js loads by itself.
        importModuleDynamically: vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
      });
      scripts.set(filename, { code, script });
      return script;
    } catch {
      return undefined;
    }
  }
}

module.exports = TESTED.test(version) ? CachingRuntime : JestRuntime;
