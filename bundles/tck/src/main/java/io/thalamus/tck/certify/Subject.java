// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.certify;

import io.thalamus.hal.Device;
import io.thalamus.vectors.Example;
import java.util.List;
import java.util.Objects;

/**
 * The device that is tested, and the examples. Immutable.
 *
 * @param settings of the run, with its device
 * @param singles examples of one operation each, of all that the device supports
 */
record Subject(Certification settings, List<Example> singles) {
  Subject {
    Objects.requireNonNull(settings, "settings");
    singles = List.copyOf(singles);
  }

  Device device() {
    return settings.device();
  }

  long seed() {
    return settings.seed();
  }
}
