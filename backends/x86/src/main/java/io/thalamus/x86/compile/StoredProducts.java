// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

import io.thalamus.x86.asm.Length;
import io.thalamus.x86.kernel.Rescale;
import io.thalamus.x86.kernel.StoredProduct;
import io.thalamus.x86.kernel.StoredProduct.Form;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;

/** A layer whose results see all channels: panels of weights, and calls for each. Used once. */
final class StoredProducts {
  /** Products of a call: about a tenth of a millisecond. */
  private static final long MOST_PRODUCTS = 1 << 22;

  private final ProgramBuilder program;
  private final StoredLayer layer;
  private final Place source;
  private final Place output;
  private final Scaling scaling;

  /** The source as words less the zero point, with its padding; null until a panel needs it. */
  private Place words;

  /** The source as bytes, with its padding; null until a panel needs it. */
  private Place bytes;

  /** Elements of a tap that stand beside each other. */
  private final int run;

  /** How many such runs the taps beside each other are. */
  private final int runs;

  StoredProducts(ProgramBuilder program, StoredLayer declared, Place source, Place output) {
    this.program = program;
    this.source = source;
    this.output = output;
    layer = declared.flat();
    scaling = layer.scaling();
    boolean isJoined = layer.width().dilation() == 1;
    run = layer.channels() * (isJoined ? layer.width().size() : 1);
    runs = isJoined ? 1 : layer.width().size();
  }

  /** Emits the functions of all panels, and their calls panel by panel: weights stay in a cache. */
  void emit() {
    boolean isShort = (long) layer.batches() * layer.resultHeight() * layer.resultWidth() <= 2;
    int channel = 0;
    while (channel < layer.resultChannels()) {
      int left = layer.resultChannels() - channel;
      Length length = StoredLayer.length(program.emitter(), left);
      int pair = Rescale.pair(length);
      int most = length == Length.YMM ? 1 : isShort ? 4 : 2;
      // What is hardly more than a pair is better parted.
      int pairs = left <= pair * 3 / 2 ? 1 : Math.min(most, Math.ceilDiv(left, pair));
      int channels = Math.min(left, pairs * pair);
      panel(length, 2 * pairs, channel, channels);
      channel += channels;
    }
  }

  private void panel(Length length, int vectors, int channel, int channels) {
    Form form = form(channel, channels);
    int correction = form == Form.BYTES ? correction(channel, channels) : 0;
    long panel = program.constant(pack(length, form, vectors, channel, channels, correction));
    int results = layer.resultWidth();
    boolean isFlipped = isFlipped(form);
    int most = StoredProduct.mostRows(length, form, isFlipped, correction != 0, vectors);
    int blocks = Math.ceilDiv(results, most);
    int rows = Math.ceilDiv(results, blocks);
    int whole = results / rows;
    int rest = results % rows;
    StoredProduct product = product(length, form, correction, vectors, channels, rows);
    for (int line = 0; line < layer.batches() * layer.resultHeight(); line++) {
      call(product, line, 0, whole, channel, panel);
      if (rest > 0) {
        StoredProduct last = product(length, form, correction, vectors, channels, rest);
        call(last, line, whole * rows, 1, channel, panel);
      }
    }
  }

  private Form form(int channel, int channels) {
    return program.emitter().level().dot().isPresent()
        ? Form.BYTES
        : neverSaturate(channel, channels) ? Form.PAIRS : Form.WORDS;
  }

  private boolean isFlipped(Form form) {
    return form != Form.WORDS && layer.isSigned();
  }

  /** Whether no two neighbouring weights of some channels can leave 16 bits, times 255 each. */
  private boolean neverSaturate(int channel, int channels) {
    int[] weights = layer.weights();
    int end = (channel + channels) * depth();
    for (int begin = channel * depth(); begin < end; begin += run) {
      for (int i = begin; i < begin + run; i += 2) {
        int second = i + 1 < begin + run ? weights[i + 1] : 0;
        if (Math.max(weights[i], 0) + Math.max(second, 0) > Byte.MAX_VALUE
            || Math.min(weights[i], 0) + Math.min(second, 0) < Byte.MIN_VALUE) {
          return false;
        }
      }
    }
    return true;
  }

  /** Returns the source as a form reads it. */
  private Place source(Form form) {
    if (form == Form.WORDS) {
      words = words == null ? layer.copy(program, source, true) : words;
      return words;
    }
    if (bytes == null) {
      bytes = layer.isPadded() ? layer.copy(program, source, false) : source;
    }
    return bytes;
  }

  /** Returns what the weights of some channels must be made less by, to be signed bytes. */
  private int correction(int channel, int channels) {
    int depth = depth();
    int least = 0;
    int largest = 0;
    for (int i = channel * depth; i < (channel + channels) * depth; i++) {
      least = Math.min(least, layer.weights()[i]);
      largest = Math.max(largest, layer.weights()[i]);
    }
    return Math.max(largest - Byte.MAX_VALUE, 0) + Math.min(least - Byte.MIN_VALUE, 0);
  }

  /** Returns the weights of a channel. */
  private int depth() {
    return layer.height().size() * runs * run;
  }

  private StoredProduct product(
      Length length, Form form, int correction, int vectors, int channels, int rows) {
    int cell = layer.channels() * form.bytes();
    return new StoredProduct(
        length,
        form,
        isFlipped(form),
        correction,
        rows,
        vectors,
        channels,
        layer.height().size(),
        layer.height().dilation() * layer.paddedWidth() * cell,
        runs,
        runs == 1 ? 0 : layer.width().dilation() * cell,
        run,
        layer.width().stride() * cell,
        layer.resultChannels(),
        scaling.rescale());
  }

  private void call(
      StoredProduct product, int line, int result, int blocks, int channel, long panel) {
    int batch = line / layer.resultHeight();
    int row = line % layer.resultHeight() * layer.height().stride();
    long from =
        (((long) batch * layer.paddedHeight() + row) * layer.paddedWidth()
                + (long) result * layer.width().stride())
            * layer.channels()
            * product.form().bytes();
    long to = ((long) line * layer.resultWidth() + result) * layer.resultChannels() + channel;
    long products =
        (long) product.rows() * product.channels() * product.height() * product.width() * run;
    int most = (int) Math.max(1, MOST_PRODUCTS / products);
    for (int block = 0; block < blocks; block += most) {
      program.call(
          product.emit(program.emitter()),
          source(product.form()),
          from + (long) block * product.rows() * product.rowStep(),
          output,
          to + (long) block * product.rows() * product.resultStep(),
          panel,
          Math.min(most, blocks - block));
    }
  }

  /** The numbers of the channels, then the weights of each group. */
  private byte[] pack(
      Length length, Form form, int vectors, int channel, int channels, int correction) {
    int pair = Rescale.pair(length);
    int lanes = length.bytes() / Integer.BYTES;
    int lines = layer.height().size() * runs;
    int groups = Math.ceilDiv(run, form.group());
    int bytes = (scaling.rescale().arrays() + lines * groups) * vectors * length.bytes();
    ByteBuffer packed = ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN);
    scaling.write(packed, length, vectors, channel, channels, bias(form, channel, channels));
    int begin = packed.position();
    for (int c = 0; c < channels; c++) {
      int element = c / pair * 2 * lanes + Rescale.position(length, c % pair);
      for (int line = 0; line < lines; line++) {
        int weights = ((channel + c) * lines + line) * run;
        for (int i = 0; i < run; i++) {
          int group = line * groups + i / form.group();
          int at =
              begin
                  + group * vectors * length.bytes()
                  + element * Integer.BYTES
                  + i % form.group() * form.bytes();
          int weight = layer.weights()[weights + i];
          if (form == Form.WORDS) {
            packed.putShort(at, (short) weight);
          } else {
            packed.put(at, (byte) (weight - correction));
          }
        }
      }
    }
    return packed.array();
  }

  /** What the sums of some channels begin with. */
  private int[] bias(Form form, int channel, int channels) {
    int[] bias = Arrays.copyOfRange(layer.bias(), channel, channel + channels);
    if (form != Form.WORDS) {
      // Bytes are not made less by their zero point: all sums are.
      int zeroPoint =
          layer.accumulation().inputZeroPoint() - (layer.isSigned() ? Byte.MIN_VALUE : 0);
      int depth = depth();
      for (int c = 0; c < channels; c++) {
        for (int i = 0; i < depth; i++) {
          bias[c] -= zeroPoint * layer.weights()[(channel + c) * depth + i];
        }
      }
    }
    return bias;
  }
}
