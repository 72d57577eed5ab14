// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

import io.thalamus.operations.Accumulation;
import io.thalamus.operations.Requantization;
import io.thalamus.x86.asm.Length;
import io.thalamus.x86.compile.SharedWeights.Packed;
import io.thalamus.x86.kernel.Rescale;
import io.thalamus.x86.kernel.StoredProduct;
import io.thalamus.x86.kernel.StoredProduct.Form;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.IntBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/** A layer whose results see all channels: panels of weights, and calls for each. Used once. */
final class StoredProducts {
  /** Products of a call: some microseconds. */
  private static final long MOST_PRODUCTS = 1 << 19;

  private final ProgramBuilder program;
  private final StoredLayer layer;
  private final StoredSource source;
  private final Place output;
  private final Placement placement;
  private final Optional<Scaling> scaling;
  private final Optional<Rescale> rescale;

  /** Elements of a tap that stand beside each other. */
  private final int run;

  /** The number of such runs that the taps beside each other make. */
  private final int runs;

  /** The panel that was packed last, in whose place the next one is: it has been copied. */
  private int[] packed = {};

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
    rescale = scaling.map(Scaling::rescale);
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
      Length longest = program.emitter().length();
      if (longest == Length.ZMM && left <= longest.bytes() / Integer.BYTES) {
        panel(longest, 1, channel, left);
        return;
      }
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
    ProgramBuilder.Part packed =
        program.constant(
            layer.weights().key().map(weights -> key(weights, length, vectors, channel, channels)),
            () -> packed(length, vectors, channel, channels));
    Form form = ((Note) packed.note()).form();
    int correction = ((Note) packed.note()).correction();
    long panel = packed.at();
    int results = layer.resultWidth();
    boolean isFlipped = isFlipped(form);
    int most = StoredProduct.mostRows(length, form, isFlipped, correction != 0, vectors);
    int blocks = Math.ceilDiv(results, most);
    int rows = Math.ceilDiv(results, blocks);
    int whole = results / rows;
    int rest = results % rows;
    // A single line is as many as it has parts, since a call must not take long.
    StoredProduct product =
        isSingle()
            ? product(length, form, correction, vectors, channels, rows, 1, 0)
            : product(length, form, correction, vectors, channels, rows, whole, rest);
    for (int batch = 0; batch < layer.batches(); batch++) {
      call(product, batch, 0, isSingle() ? whole : layer.resultHeight(), channel, panel);
      if (isSingle() && rest > 0) {
        StoredProduct last = product(length, form, correction, vectors, channels, rest, 1, 0);
        call(last, batch, whole * rows, 1, channel, panel);
      }
    }
  }

  /** What the weights of a panel decide on. */
  private record Note(Form form, int correction) {}

  /** All that decides on a panel. */
  private record Key(
      Object weights,
      IntBuffer bias,
      int inputZeroPoint,
      List<Requantization> factors,
      Optional<Rescale> rescale,
      boolean isSigned,
      int lines,
      int run,
      Length length,
      int vectors,
      int channel,
      int channels) {}

  private Key key(Object weights, Length length, int vectors, int channel, int channels) {
    Accumulation accumulation = layer.accumulation();
    List<Requantization> factors = accumulation.output();
    return new Key(
        weights,
        IntBuffer.wrap(Arrays.copyOfRange(layer.bias(), channel, channel + channels)),
        accumulation.inputZeroPoint(),
        factors.isEmpty() ? factors : factors.subList(channel, channel + channels),
        rescale,
        layer.isSigned(),
        layer.height().size() * runs,
        run,
        length,
        vectors,
        channel,
        channels);
  }

  private Packed packed(Length length, int vectors, int channel, int channels) {
    Form form = form(channel, channels);
    int correction =
        form == Form.BYTES ? layer.weights().excess(channel * depth(), channels * depth()) : 0;
    return new Packed(
        pack(length, form, vectors, channel, channels, correction), new Note(form, correction));
  }

  private boolean isSingle() {
    return layer.resultHeight() == 1;
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

  private int resultBytes() {
    return rescale.isPresent() ? Byte.BYTES : Integer.BYTES;
  }

  private StoredProduct product(
      Length length,
      Form form,
      int correction,
      int vectors,
      int channels,
      int rows,
      int parts,
      int rest) {
    int cell = placement.cell() * form.bytes();
    int rowStep = layer.width().stride() * cell;
    int resultStep = placement.columnStep() * placement.resultCell() * resultBytes();
    return new StoredProduct(
        true,
        length,
        form,
        isFlipped(form),
        correction,
        rows,
        parts,
        rest,
        isSingle() ? rows * rowStep : layer.height().stride() * layer.paddedWidth() * cell,
        isSingle()
            ? rows * resultStep
            : placement.lineStep() * placement.columns() * placement.resultCell() * resultBytes(),
        vectors,
        channels,
        layer.height().size(),
        layer.height().dilation() * layer.paddedWidth() * cell,
        runs,
        runs == 1 ? 0 : layer.width().dilation() * cell,
        run,
        rowStep,
        resultStep,
        rescale);
  }

  private void call(
      StoredProduct product, int batch, int result, int lines, int channel, long panel) {
    long from =
        ((((long) batch * layer.paddedHeight() + placement.top()) * layer.paddedWidth()
                        + (long) result * layer.width().stride()
                        + placement.left())
                    * placement.cell()
                + placement.channel())
            * product.form().bytes();
    long to =
        ((((long) batch * placement.lines() + placement.line()) * placement.columns()
                        + placement.column()
                        + (long) result * placement.columnStep())
                    * placement.resultCell()
                + placement.resultChannel()
                + channel)
            * resultBytes();
    long products =
        ((long) product.parts() * product.rows() + product.rest()) * product.channels() * depth();
    int most = (int) Math.max(1, MOST_PRODUCTS / products);
    for (int line = 0; line < lines; line += most) {
      int some = Math.min(most, lines - line);
      program.call(
          product,
          some,
          source
              .of(product.form(), layer.seeing(placement.cell()))
              .at(from + (long) line * product.lineStep()),
          output.at(to + (long) line * product.resultLineStep()),
          Spot.ofConstant(panel));
      program.multiplied(products * some);
    }
  }

  /** The numbers of the channels, then the weights of each group. */
  private MemorySegment pack(
      Length length, Form form, int vectors, int channel, int channels, int correction) {
    int lanes = length.bytes() / Integer.BYTES;
    int lines = layer.height().size() * runs;
    int groups = Math.ceilDiv(run, form.group());
    int step = vectors * lanes;
    int numbers = StoredProduct.arrays(rescale) * step;
    int size = numbers + lines * groups * step;
    if (packed.length < size) {
      packed = new int[size];
    }
    Arrays.fill(packed, 0, size, 0);
    int[] bias = Arrays.copyOfRange(layer.bias(), channel, channel + channels);
    // Bytes are not made less by their zero point: all sums are.
    int zeroPoint =
        form == Form.WORDS
            ? 0
            : layer.accumulation().inputZeroPoint() - (layer.isSigned() ? Byte.MIN_VALUE : 0);
    StoredWeights weights = layer.weights();
    for (int c = 0; c < channels; c++) {
      int element = rescale.isPresent() ? Rescale.element(length, vectors, c) : c;
      for (int line = 0; line < lines; line++) {
        int from = ((channel + c) * lines + line) * run;
        int at = numbers + line * groups * step + element;
        int sum =
            form == Form.WORDS
                ? weights.writeWords(from, run, packed, at, step)
                : weights.writeBytes(from, run, correction, packed, at, step);
        bias[c] -= zeroPoint * sum;
      }
    }
    if (scaling.isPresent()) {
      ByteBuffer bytes =
          ByteBuffer.allocate(numbers * Integer.BYTES).order(ByteOrder.nativeOrder());
      scaling.get().write(bytes, length, vectors, channel, channels, bias);
      bytes.rewind().asIntBuffer().get(packed, 0, numbers);
    } else {
      System.arraycopy(bias, 0, packed, 0, channels);
    }
    return MemorySegment.ofArray(packed).asSlice(0, (long) size * Integer.BYTES);
  }
}
