import { AssetHashType } from 'aws-cdk-lib';
import { Code } from 'aws-cdk-lib/aws-lambda';
import type { Architecture } from '../settings.ts';
import { bundleFunction, type FunctionName } from './function-bundle.ts';
import { nativeLayer } from './native-layer.ts';

/** Where the stack takes its code from; tests of the template give it next to nothing. */
export interface Packages {
  /** The bundle of one function. */
  functionCode(name: FunctionName): Code;
  /** LanceDB with its native library. */
  layerCode(architecture: Architecture): Code;
}

/** The real packages, made on this machine without Docker. */
export const localPackages: Packages = {
  functionCode: (name) => Code.fromAsset(bundleFunction(name)),
  layerCode: (architecture) => {
    const { folder, hash } = nativeLayer(architecture);
    // The versions are the hash: reading 200 MB at each synth would tell nothing more.
    return Code.fromAsset(folder, { assetHash: hash, assetHashType: AssetHashType.CUSTOM });
  },
};
