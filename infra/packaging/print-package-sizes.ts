import { bundleFunction, FUNCTIONS, NATIVE_FUNCTIONS } from './function-bundle.ts';
import { nativeLayer } from './native-layer.ts';
import { packageSize } from './package-sizes.ts';

/** Lambda's limit for a function together with its layers, unzipped. */
const LIMIT = 262_144_000;

/** `npm run package-sizes`: one line for each function and one for the layer. Ends with 1 when one is too large. */
function printSizes(): void {
  const line = (name: string, zipped: string, unzipped: string, note: string) =>
    process.stdout.write(
      `${name.padEnd(14)} ${zipped.padStart(12)} ${unzipped.padStart(12)}  ${note}`.trimEnd().concat('\n'),
    );
  line('package', 'zip bytes', 'unzipped', '');
  const layer = packageSize(nativeLayer('x86_64').folder);
  for (const name of FUNCTIONS) {
    const { zipped, unzipped } = packageSize(bundleFunction(name));
    const all = NATIVE_FUNCTIONS.includes(name) ? unzipped + layer.unzipped : unzipped;
    const note = all === unzipped ? '' : `with the layer ${all} of ${LIMIT}`;
    line(name, String(zipped), String(unzipped), note);
    if (all > LIMIT) process.exitCode = 1;
  }
  line('layer', String(layer.zipped), String(layer.unzipped), '');
}

printSizes();
