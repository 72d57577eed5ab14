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

  CopiedBytes total() {
    return new CopiedBytes(argumentsIn, argumentsOut, deviceIn, deviceOut, temporaries);
  }
}
