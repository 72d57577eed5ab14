// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

import io.thalamus.x86.asm.Length;
import io.thalamus.x86.kernel.Function;
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
  private final StoredSource source;
  private final Place output;
  private final Placement placement;
  private final Scaling scaling;

  /** Elements of a tap that stand beside each other. */
  private final int run;

  /** The number of such runs that the taps beside each other make. */
  private final int runs;

  StoredProducts(ProgramBuilder program, StoredLayer declared, Place source, Place output) {
    this(
        program,
        declared.flat(),
        new StoredSource(program, source),
        output,
        Placement.whole(declared.flat()));
  }

  /** A layer whose results stand where they are put. */
  StoredProducts(
      ProgramBuilder program,
      StoredLayer layer,
      StoredSource source,
      Place output,
      Placement placement) {
    this.program = program;
    this.layer = layer;
    this.source = source;
    this.output = output;
    this.placement = placement;
    scaling = layer.scaling();
    boolean isJoined = layer.width().dilation() == 1 && placement.cell() == layer.channels();
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
    int correction =
        form == Form.BYTES ? layer.weights().excess(channel * depth(), channels * depth()) : 0;
    long panel = program.constant(pack(length, form, vectors, channel, channels, correction));
    int results = layer.resultWidth();
    boolean isFlipped = isFlipped(form);
    int most = StoredProduct.mostRows(length, form, isFlipped, correction != 0, vectors);
    int blocks = Math.ceilDiv(results, most);
    int rows = Math.ceilDiv(results, blocks);
    int whole = results / rows;
    int rest = results % rows;
    StoredProduct product = product(length, form, correction, vectors, channels, rows);
    Function function = product.emit(program.emitter());
    StoredProduct last =
        rest > 0 ? product(length, form, correction, vectors, channels, rest) : product;
    Function lastFunction = last.emit(program.emitter());
    for (int line = 0; line < layer.batches() * layer.resultHeight(); line++) {
      call(product, function, line, 0, whole, channel, panel);
      if (rest > 0) {
        call(last, lastFunction, line, whole * rows, 1, channel, panel);
      }
    }
  }

  private Form form(int channel, int channels) {
    return program.emitter().level().dot().isPresent()
        ? Form.BYTES
        : layer.weights().neverSaturate(channel * depth(), channels * depth(), run)
            ? Form.PAIRS
            : Form.WORDS;
  }

  private boolean isFlipped(Form form) {
    return form != Form.WORDS && layer.isSigned();
  }

  /** Returns the weights of a channel. */
  private int depth() {
    return layer.height().size() * runs * run;
  }

  private StoredProduct product(
      Length length, Form form, int correction, int vectors, int channels, int rows) {
    int cell = placement.cell() * form.bytes();
    return new StoredProduct(
        true,
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
        placement.columnStep() * placement.resultCell(),
        scaling.rescale());
  }

  private void call(
      StoredProduct product,
      Function function,
      int line,
      int result,
      int blocks,
      int channel,
      long panel) {
    int batch = line / layer.resultHeight();
    int index = line % layer.resultHeight();
    int row = index * layer.height().stride() + placement.top();
    long from =
        ((((long) batch * layer.paddedHeight() + row) * layer.paddedWidth()
                        + (long) result * layer.width().stride()
                        + placement.left())
                    * placement.cell()
                + placement.channel())
            * product.form().bytes();
    int resultLine = placement.line() + index * placement.lineStep();
    long to =
        (((long) batch * placement.lines() + resultLine) * placement.columns()
                    + placement.column()
                    + (long) result * placement.columnStep())
                * placement.resultCell()
            + placement.resultChannel()
            + channel;
    long products =
        (long) product.rows() * product.channels() * product.height() * product.width() * run;
    int most = (int) Math.max(1, MOST_PRODUCTS / products);
    for (int block = 0; block < blocks; block += most) {
      program.call(
          function,
          source.of(product.form(), layer.seeing(placement.cell())),
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
    int step = vectors * lanes;
    int[] packed = new int[lines * groups * step];
    int[] bias = Arrays.copyOfRange(layer.bias(), channel, channel + channels);
    // Bytes are not made less by their zero point: all sums are.
    int zeroPoint =
        form == Form.WORDS
            ? 0
            : layer.accumulation().inputZeroPoint() - (layer.isSigned() ? Byte.MIN_VALUE : 0);
    StoredWeights weights = layer.weights();
    for (int c = 0; c < channels; c++) {
      int element = c / pair * 2 * lanes + Rescale.position(length, c % pair);
      for (int line = 0; line < lines; line++) {
        int from = ((channel + c) * lines + line) * run;
        int at = line * groups * step + element;
        int sum =
            form == Form.WORDS
                ? weights.writeWords(from, run, packed, at, step)
                : weights.writeBytes(from, run, correction, packed, at, step);
        bias[c] -= zeroPoint * sum;
      }
    }
    int numbers = scaling.rescale().arrays() * vectors * length.bytes();
    ByteBuffer panel = ByteBuffer.allocate(numbers + packed.length * Integer.BYTES);
    panel.order(ByteOrder.LITTLE_ENDIAN);
    scaling.write(panel, length, vectors, channel, channels, bias);
    panel.asIntBuffer().put(packed);
    return panel.array();
  }
}
