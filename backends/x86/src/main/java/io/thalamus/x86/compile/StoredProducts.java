// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

import io.thalamus.operations.Accumulation;
import io.thalamus.operations.Requantization;
import io.thalamus.x86.asm.Length;
import io.thalamus.x86.compile.Lowering.Target;
import io.thalamus.x86.compile.SharedWeights.Packed;
import io.thalamus.x86.kernel.FunctionSource;
import io.thalamus.x86.kernel.Rescale;
import io.thalamus.x86.kernel.StoredDots;
import io.thalamus.x86.kernel.StoredProduct;
import io.thalamus.x86.kernel.StoredProduct.Form;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.IntBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/** A layer whose results see all channels: panels of weights, and calls for each. Used once. */
final class StoredProducts {
  /** Elements from which on the lanes of a vector are worth adding in the end. */
  private static final int LEAST_ALONG = 64;

  private final ProgramBuilder program;
  private final StoredLayer layer;
  private final StoredSource source;
  private final Spot output;
  private final Placement placement;
  private final Optional<Scaling> scaling;
  private final Optional<Rescale> rescale;

  /** Elements of a tap that stand beside each other. */
  private final int run;

  /** The number of such runs that the taps beside each other make. */
  private final int runs;

  /** The panel that was packed last, in whose place the next one is: it has been copied. */
  private int[] packed = {};

  StoredProducts(ProgramBuilder program, StoredLayer declared, Place source, Target target) {
    this(
        program,
        declared.flat(),
        new StoredSource(program, source),
        target.at(),
        Placement.group(
            declared.flat(), declared.channels(), 0, target.step() / declared.resultBytes(), 0));
  }

  /** A layer whose results stand where they are put. */
  StoredProducts(
      ProgramBuilder program,
      StoredLayer layer,
      StoredSource source,
      Spot output,
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
    List<Shape> shapes = shapes();
    ProgramBuilder.Part packed =
        program.constant(
            layer.weights().key().map(weights -> key(weights, shapes)), () -> packed(shapes));
    List<?> notes = (List<?>) packed.note();
    int first = 0;
    for (int i = 1; i <= shapes.size(); i++) {
      Note note = (Note) notes.get(first);
      if (i == shapes.size() || !note.isFollowedBy((Note) notes.get(i))) {
        emit(note, i - first, packed.at());
        first = i;
      }
    }
  }

  /**
   * The form of a panel.
   *
   * @param isAlong whether vectors lie along the source, as those of {@link StoredDots} do
   */
  private record Shape(Length length, int vectors, int channel, int channels, boolean isAlong) {
    Shape(Length length, int vectors, int channel, int channels) {
      this(length, vectors, channel, channels, false);
    }
  }

  private List<Shape> shapes() {
    Length longest = program.emitter().length();
    List<Shape> shapes = new ArrayList<>();
    if (isAlong()) {
      return List.of(
          new Shape(StoredDots.LENGTH, StoredDots.VECTORS, 0, layer.resultChannels(), true));
    }
    int channel = 0;
    while (channel < layer.resultChannels()) {
      int left = layer.resultChannels() - channel;
      if (longest == Length.ZMM && left <= longest.bytes() / Integer.BYTES) {
        shapes.add(new Shape(longest, 1, channel, left));
        return shapes;
      }
      Length length = StoredLayer.length(program.emitter(), left);
      int pair = Rescale.pair(length);
      int most = length == Length.YMM ? 1 : layer.hasFew() ? 4 : 2;
      // What is hardly more than a pair is better parted.
      int pairs = left <= pair * 3 / 2 ? 1 : Math.min(most, Math.ceilDiv(left, pair));
      int channels = Math.min(left, pairs * pair);
      shapes.add(new Shape(length, 2 * pairs, channel, channels));
      channel += channels;
    }
    return shapes;
  }

  /** Returns whether a single place has few results, each of which sees much. */
  private boolean isAlong() {
    return layer.resultChannels() <= StoredDots.MOST_CHANNELS
        && (long) layer.batches() * layer.resultHeight() * layer.resultWidth() == 1
        && layer.height().size() * runs == 1
        && run >= LEAST_ALONG
        && rescale.isPresent()
        && layer.weights().excess(0, layer.resultChannels() * run) == 0;
  }

  /**
   * What the weights of a panel decide on.
   *
   * @param at where it stands among all panels
   */
  private record Note(Shape shape, Form form, int correction, long at) {
    /** Returns true if one call may compute both. */
    boolean isFollowedBy(Note next) {
      return form == next.form
          && correction == next.correction
          && shape.length() == next.shape.length()
          && shape.vectors() == next.shape.vectors()
          && shape.channels() == next.shape.channels();
    }
  }

  /** Emits the function of some panels, one behind the other, and its calls. */
  private void emit(Note note, int count, long panels) {
    Shape shape = note.shape();
    Results results = results(note.form());
    int most =
        StoredProduct.mostRows(
            shape.length(),
            note.form(),
            isFlipped(note.form()),
            note.correction() != 0,
            shape.vectors());
    long products = Results.productsOfCall(results.count() * layer.resultChannels() * depth());
    List<Results.Part> parts = results.parts(most, products / ((long) shape.channels() * depth()));
    long ofPanel = parts.getFirst().count() * shape.channels() * depth();
    int atOnce = Math.clamp(products / ofPanel, 1, count);
    for (int i = 0; i < count; i += atOnce) {
      for (Results.Part part : parts) {
        call(note, i, Math.min(atOnce, count - i), part, panels);
      }
    }
  }

  /** All that decides on the panels. */
  private record Key(
      Object weights,
      IntBuffer bias,
      int inputZeroPoint,
      List<Requantization> factors,
      Optional<Rescale> rescale,
      boolean isSigned,
      int lines,
      int run,
      List<Shape> shapes) {}

  private Key key(Object weights, List<Shape> shapes) {
    Accumulation accumulation = layer.accumulation();
    return new Key(
        weights,
        IntBuffer.wrap(layer.bias()),
        accumulation.inputZeroPoint(),
        accumulation.output(),
        rescale,
        layer.isSigned(),
        layer.height().size() * runs,
        run,
        shapes);
  }

  private Packed packed(List<Shape> shapes) {
    List<Note> notes = new ArrayList<>();
    long bytes = 0;
    for (Shape shape : shapes) {
      Form form = form(shape.channel(), shape.channels());
      int correction =
          form == Form.BYTES
              ? layer.weights().excess(shape.channel() * depth(), shape.channels() * depth())
              : 0;
      notes.add(new Note(shape, form, correction, bytes));
      bytes += (long) size(shape, form) * Integer.BYTES;
    }
    return new Packed(
        bytes,
        to ->
            notes.forEach(
                note -> {
                  MemorySegment panel = pack(note);
                  MemorySegment.copy(panel, 0, to, note.at(), panel.byteSize());
                }),
        List.copyOf(notes));
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

  private Results results(Form form) {
    int cell = placement.cell() * form.bytes();
    int line = layer.paddedWidth() * cell;
    int resultStep = placement.resultCell() * layer.resultBytes();
    int resultLine = placement.columns() * resultStep;
    return new Results(
        layer.batches(),
        (long) layer.paddedHeight() * line,
        (long) placement.lines() * resultLine,
        layer.resultHeight(),
        layer.resultHeight() == 1 ? 0 : layer.height().stride() * line,
        placement.lineStep() * resultLine,
        layer.resultWidth(),
        layer.width().stride() * cell,
        placement.columnStep() * resultStep);
  }

  private void call(Note note, int panel, int count, Results.Part part, long panels) {
    Shape shape = note.shape();
    Form form = note.form();
    int cell = placement.cell() * form.bytes();
    FunctionSource product =
        shape.isAlong()
            ? new StoredDots(form, isFlipped(form), shape.channels(), run, rescale.orElseThrow())
            : new StoredProduct(
                true,
                shape.length(),
                form,
                isFlipped(form),
                note.correction(),
                part.area(),
                shape.vectors(),
                shape.channels(),
                layer.height().size(),
                layer.height().dilation() * layer.paddedWidth() * cell,
                runs,
                runs == 1 ? 0 : layer.width().dilation() * cell,
                run,
                placement.columnStep() * placement.resultCell() * layer.resultBytes(),
                rescale);
    long from =
        ((long) placement.top() * layer.paddedWidth() + placement.left()) * cell
            + placement.channel() * form.bytes();
    long to =
        (((long) placement.line() * placement.columns() + placement.column())
                    * placement.resultCell()
                + placement.resultChannel()
                + shape.channel()
                + (long) panel * shape.channels())
            * layer.resultBytes();
    program.call(
        product,
        count,
        source.of(form, layer.seeing(placement.cell())).at(from + part.from()),
        output.plus(to + part.to()),
        Spot.ofConstant(panels + note.at() + (long) panel * size(shape, form) * Integer.BYTES));
    program.multiplied(part.count() * shape.channels() * depth() * count);
  }

  /** Returns the integers of a panel. */
  private int size(Shape shape, Form form) {
    int groups = layer.height().size() * runs * Math.ceilDiv(run, form.group());
    int step = shape.vectors() * shape.length().bytes() / Integer.BYTES;
    return StoredProduct.arrays(rescale) * step
        + groups * (shape.isAlong() ? shape.channels() : step);
  }

  /** The numbers of the channels, then the weights of each group. */
  private MemorySegment pack(Note note) {
    Form form = note.form();
    Length length = note.shape().length();
    int vectors = note.shape().vectors();
    int channel = note.shape().channel();
    int channels = note.shape().channels();
    int lines = layer.height().size() * runs;
    int groups = Math.ceilDiv(run, form.group());
    int step = vectors * length.bytes() / Integer.BYTES;
    int numbers = StoredProduct.arrays(rescale) * step;
    int size = size(note.shape(), form);
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
    for (int c = 0; c < channels; c++) {
      if (note.shape().isAlong()) {
        bias[c] -= zeroPoint * packAlong(form, c, channels, numbers);
        continue;
      }
      int element = rescale.isPresent() ? Rescale.element(length, vectors, c) : c;
      for (int line = 0; line < lines; line++) {
        int from = ((channel + c) * lines + line) * run;
        int at = numbers + line * groups * step + element;
        bias[c] -= zeroPoint * pack(form, from, run, note.correction(), at, step);
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

  /** Packs the weights of a channel for {@link StoredDots}, and returns their sum. */
  private int packAlong(Form form, int channel, int channels, int numbers) {
    int groups = StoredDots.groups();
    int length = groups * form.group();
    int sum = 0;
    int at = numbers;
    int from = channel * run;
    int end = from + run;
    // The last group of a whole vector may be a part of one.
    for (int left = Math.ceilDiv(run, form.group()); left >= groups; left -= groups) {
      sum += pack(form, from, Math.min(length, end - from), 0, at + channel * groups, 1);
      from += length;
      at += channels * groups;
    }
    return sum + pack(form, from, Math.max(0, end - from), 0, at + channel, channels);
  }

  private int pack(Form form, int from, int count, int less, int at, int step) {
    return form == Form.WORDS
        ? layer.weights().writeWords(from, count, packed, at, step)
        : layer.weights().writeBytes(from, count, less, packed, at, step);
  }
}
