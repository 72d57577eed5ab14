// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.compile;

import io.thalamus.model.OperandType;
import io.thalamus.model.Shape;
import io.thalamus.npu.command.Command;
import io.thalamus.npu.command.Command.Block;

/**
 * A tensor in DRAM. Immutable; refers to nothing of the model.
 *
 * @param type of its elements
 * @param shape of it
 * @param address among the tensors
 * @param constant where it stands among the weights; otherwise null
 */
record Tensor(OperandType type, Shape shape, int address, Constant constant) {
  int elementSize() {
    return type.elementSize();
  }

  int bytes() {
    return Math.toIntExact(shape.elementCount() * elementSize());
  }

  /** Copies a block to the scratchpad. */
  void load(Emitter to, int offset, int address, Block block, int toRow, int toPlane) {
    boolean isConstant = constant != null;
    int from = (isConstant ? to.address(constant) : this.address) + offset;
    to.add(
        new Command.Load(
            isConstant ? Command.WEIGHTS : Command.TENSORS, from, address, block, toRow, toPlane));
  }

  /** Copies a block from the scratchpad. */
  void store(Emitter to, int address, int offset, Block block, int toRow, int toPlane) {
    to.add(new Command.Store(address, this.address + offset, block, toRow, toPlane));
  }
}
