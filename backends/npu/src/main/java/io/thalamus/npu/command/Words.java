// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.command;

import io.thalamus.npu.command.Command.Copy;
import io.thalamus.npu.command.Command.Factor;
import io.thalamus.npu.command.Command.Size;
import io.thalamus.npu.command.Command.Window;
import java.nio.IntBuffer;

/**
 * Commands as words, in the order of {@link Opcode#fields}, which is that of their components.
 * Stateless.
 */
final class Words {
  private Words() {}

  static int[] of(Command command) {
    IntBuffer w = IntBuffer.allocate(command.opcode().fields().size());
    switch (command) {
      case Command.End _ -> {}
      case Command.Barrier c -> put(w, c.operation());
      case Command.Load c -> {
        put(w, c.space(), c.from(), c.to());
        put(w, c.copy());
      }
      case Command.LoadPacked c -> put(w, c.from(), c.packedBytes(), c.to(), c.bytes());
      case Command.Store c -> {
        put(w, c.from(), c.to());
        put(w, c.copy());
      }
      case Command.Fill c -> {
        Command.Block target = c.target();
        put(w, c.to(), target.run(), target.rows(), target.row());
        put(w, target.planes(), target.plane(), c.value());
      }
      case Command.MatMul c -> {
        put(w, c.window());
        put(w, c.columns(), c.weights(), c.accumulators(), c.inputZero(), c.weightZero());
      }
      case Command.Depthwise c -> {
        put(w, c.window());
        put(w, c.multiplier(), c.weights(), c.accumulators(), c.inputZero(), c.weightZero());
      }
      case Command.Requantize c -> {
        put(w, c.flags(), c.accumulators(), c.pixelStride(), c.channelStride());
        put(w, c.pixels(), c.channels(), c.table(), c.to(), c.toPixel());
        put(w, c.zero(), c.min(), c.max());
      }
      case Command.Pool c -> {
        put(w, c.window());
        put(w, c.input());
        put(w, c.top(), c.left(), c.to(), c.min(), c.max());
      }
      case Command.Elementwise c -> {
        put(w, c.flags(), c.a(), c.b(), c.to(), c.rows(), c.run());
        put(w, c.aRow(), c.aStep(), c.bRow(), c.bStep(), c.aZero(), c.bZero(), c.leftShift());
        put(w, c.aFactor(), c.bFactor(), c.factor());
        put(w, c.zero(), c.min(), c.max());
      }
      case Command.Lookup c -> put(w, c.from(), c.to(), c.count(), c.table());
      case Command.Softmax c ->
          put(w, c.flags(), c.from(), c.to(), c.rows(), c.depth(), c.table(), c.zero());
    }
    return w.array();
  }

  private static void put(IntBuffer w, int... words) {
    w.put(words);
  }

  private static void put(IntBuffer w, Copy c) {
    put(w, c.run(), c.rows(), c.fromRow(), c.toRow(), c.planes(), c.fromPlane(), c.toPlane());
  }

  private static void put(IntBuffer w, Window c) {
    put(w, c.flags(), c.input(), c.inputRow(), c.inputPixel(), c.channels());
    put(w, c.kernel(), c.dilation(), c.stride(), c.output());
  }

  private static void put(IntBuffer w, Size... sizes) {
    for (Size size : sizes) {
      put(w, size.height(), size.width());
    }
  }

  private static void put(IntBuffer w, Factor... factors) {
    for (Factor factor : factors) {
      put(w, factor.mantissa(), factor.shift());
    }
  }

  /** Returns the command of a kind that begins here: arguments are read from left to right. */
  static Command read(Opcode opcode, IntBuffer w) {
    return switch (opcode) {
      case END -> new Command.End();
      case BARRIER -> new Command.Barrier(w.get());
      case LOAD -> new Command.Load(w.get(), w.get(), w.get(), copy(w));
      case LOAD_PACKED -> new Command.LoadPacked(w.get(), w.get(), w.get(), w.get());
      case STORE -> new Command.Store(w.get(), w.get(), copy(w));
      case FILL ->
          new Command.Fill(
              w.get(), new Command.Block(w.get(), w.get(), w.get(), w.get(), w.get()), w.get());
      case MATMUL -> new Command.MatMul(window(w), w.get(), w.get(), w.get(), w.get(), w.get());
      case DEPTHWISE ->
          new Command.Depthwise(window(w), w.get(), w.get(), w.get(), w.get(), w.get());
      case REQUANTIZE ->
          new Command.Requantize(
              w.get(), w.get(), w.get(), w.get(), w.get(), w.get(), w.get(), w.get(), w.get(),
              w.get(), w.get(), w.get());
      case POOL ->
          new Command.Pool(window(w), size(w), w.get(), w.get(), w.get(), w.get(), w.get());
      case ELEMENTWISE ->
          new Command.Elementwise(
              w.get(), w.get(), w.get(), w.get(), w.get(), w.get(), w.get(), w.get(), w.get(),
              w.get(), w.get(), w.get(), w.get(), factor(w), factor(w), factor(w), w.get(), w.get(),
              w.get());
      case LOOKUP -> new Command.Lookup(w.get(), w.get(), w.get(), w.get());
      case SOFTMAX ->
          new Command.Softmax(w.get(), w.get(), w.get(), w.get(), w.get(), w.get(), w.get());
    };
  }

  private static Copy copy(IntBuffer w) {
    return new Copy(w.get(), w.get(), w.get(), w.get(), w.get(), w.get(), w.get());
  }

  private static Window window(IntBuffer w) {
    return new Window(
        w.get(), w.get(), w.get(), w.get(), w.get(), size(w), size(w), size(w), size(w));
  }

  private static Size size(IntBuffer w) {
    return new Size(w.get(), w.get());
  }

  private static Factor factor(IntBuffer w) {
    return new Factor(w.get(), w.get());
  }
}
