// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.caching;

import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.model.Model;
import io.thalamus.tck.check.TestGraph;

/**
 * A model of one input and one output, and a value for the input. Immutable; borrows the memory of
 * its constants.
 */
record Sample(String name, Model model, byte[] input) {
  /** Returns whether a device takes all of it. */
  boolean isSupportedBy(Device device) throws DeviceException {
    return device.supportedOperations(model).cardinality() == model.main().operations().size();
  }

  /** Returns what the device computes without any cache. */
  byte[] expected(Device device) throws DeviceException {
    try (PreparedModel prepared = device.prepare(model, PrepareConfig.DEFAULT)) {
      return run(prepared);
    }
  }

  /** The output of one run. */
  byte[] run(PreparedModel prepared) {
    return TestGraph.run(prepared, model.main(), input).getFirst();
  }
}
