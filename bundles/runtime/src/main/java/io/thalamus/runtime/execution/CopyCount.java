// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.execution;

import io.thalamus.api.ExecutionReport.CopiedBytes;

/** The bytes that one execution copies, by cause. Used by the one thread that executes. */
final class CopyCount {
  long argumentsIn;
  long argumentsOut;
  long deviceIn;
  long deviceOut;
  long temporaries;

  /** Begins to count anew. */
  void reset() {
    argumentsIn = 0;
    argumentsOut = 0;
    deviceIn = 0;
    deviceOut = 0;
    temporaries = 0;
  }

  CopiedBytes total() {
    return new CopiedBytes(argumentsIn, argumentsOut, deviceIn, deviceOut, temporaries);
  }
}
