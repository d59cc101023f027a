// A stand-in for the Python extension: it sleeps until it is asked, and a test chooses the environment.

const { EventEmitter } = require('vscode');

exports.activate = () => {
  const chosen = new EventEmitter();
  let prefix;
  return {
    environments: {
      getActiveEnvironmentPath: () => ({ path: prefix ?? '' }),
      resolveEnvironment: async () => {
        if (prefix === undefined) throw new Error('there is no environment');
        return { executable: { sysPrefix: prefix } };
      },
      onDidChangeActiveEnvironmentPath: chosen.event,
    },
    choose: (next) => {
      prefix = next;
      chosen.fire({ path: next });
    },
  };
};
