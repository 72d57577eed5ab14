// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

import io.thalamus.model.Shape;
import io.thalamus.x86.asm.Length;
import io.thalamus.x86.compile.Lowering.Target;
import io.thalamus.x86.kernel.Area;
import io.thalamus.x86.kernel.FunctionSource;
import io.thalamus.x86.kernel.Rescale;
import io.thalamus.x86.kernel.StoredDepthwise;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** A layer whose channels see themselves alone. Used once. */
final class StoredChannels {
  private final ProgramBuilder program;
  private final StoredLayer layer;
  private final Place source;
  private final Target target;
  private final Scaling scaling;
  private final Length length;

  StoredChannels(ProgramBuilder program, StoredLayer layer, Place source, Target target) {
    this.program = program;
    this.layer = layer;
    this.target = target;
    scaling = layer.scaling().orElseThrow();
    length = StoredLayer.length(program.emitter(), layer.channels());
    this.source = layer.isPadded() ? layer.copy(program, source, false) : source;
  }

  void emit() {
    Spot panels = Spot.ofConstant(program.constant(pack()));
    int channels = layer.channels();
    Results results =
        Results.of(
            Shape.of(layer.batches(), layer.sourceHeight(), layer.sourceWidth(), channels),
            Shape.of(layer.batches(), layer.resultHeight(), layer.resultWidth(), channels),
            layer.height(),
            layer.width(),
            1,
            target.step());
    long products =
        (long) channels
            * layer.height().size()
            * layer.width().size()
            * Results.PRODUCTS_OF_DEPTHWISE;
    long most = Results.productsOfCall(results.count() * products) / products;
    for (Results.Part part : results.parts(StoredDepthwise.mostRows(length), most)) {
      program.call(
          function(part.area()),
          part.area().lines(),
          source.at(part.from()),
          target.at().plus(part.to()),
          panels);
    }
  }

  private FunctionSource function(Area area) {
    int channels = layer.channels();
    return new StoredDepthwise(
        length,
        layer.isSigned(),
        area.line(),
        Math.ceilDiv(channels, Rescale.pair(length)),
        channels,
        layer.height().size(),
        layer.height().dilation() * layer.paddedWidth() * channels,
        layer.width().size(),
        layer.width().dilation() * channels,
        target.step(),
        scaling.rescale());
  }

  /** For each pair of vectors the numbers of its channels, then the weights of each two taps. */
  private byte[] pack() {
    int pair = Rescale.pair(length);
    int taps = layer.height().size() * layer.width().size();
    int channels = layer.channels();
    int pairs = Math.ceilDiv(channels, pair);
    long panel = StoredDepthwise.panel(length, taps, scaling.rescale());
    ByteBuffer packed =
        ByteBuffer.allocate(Math.toIntExact(pairs * panel)).order(ByteOrder.LITTLE_ENDIAN);
    for (int first = 0; first < channels; first += pair) {
      int count = Math.min(pair, channels - first);
      int[] bias = new int[count];
      for (int c = 0; c < count; c++) {
        int weights = 0;
        for (int tap = 0; tap < taps; tap++) {
          weights += layer.weights().get(tap * channels + first + c);
        }
        // What is seen is not made less by its zero point: all sums are.
        bias[c] = layer.bias()[first + c] - layer.accumulation().inputZeroPoint() * weights;
      }
      packed.position(Math.toIntExact(first / pair * panel));
      scaling.write(packed, length, 2, first, count, bias);
      for (int tap = 0; tap < taps; tap++) {
        int at = packed.position() + tap / 2 * 2 * length.bytes() + tap % 2 * Short.BYTES;
        for (int c = 0; c < count; c++) {
          int element = Rescale.position(length, c);
          short weight = (short) layer.weights().get(tap * channels + first + c);
          packed.putShort(at + element * Integer.BYTES, weight);
        }
      }
    }
    return packed.array();
  }
}
