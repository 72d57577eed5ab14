// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.compile;

import io.thalamus.npu.command.Command;

/** Takes the commands of a layer, in order. */
interface Emitter {
  /** One more command. */
  void add(Command command);

  /** The address of a constant among the weights. */
  int address(Constant constant);
}
