// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.commands;

import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.Tensor;
import io.thalamus.api.picture.Normalization;
import io.thalamus.api.picture.Picture;
import io.thalamus.api.picture.PictureLayout;
import io.thalamus.console.Candidates;
import io.thalamus.console.Candidates.Kind;
import io.thalamus.console.CommandException;
import io.thalamus.console.Invocation;
import io.thalamus.console.text.Units;
import io.thalamus.memory.HardwareBuffer;
import io.thalamus.memory.HardwareBuffer.Access;
import io.thalamus.memory.HardwareBufferHandle;
import io.thalamus.memory.SharedMemoryException;
import io.thalamus.model.Operand;
import io.thalamus.model.Subgraph;
import io.thalamus.model.reader.ModelFile;
import io.thalamus.shell.model.OpenModel;
import io.thalamus.shell.tensor.InputFile;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * The reader of the words that name a model's inputs. Used by one thread. Owns the hardware buffers
 * that it opened and locked, until it is closed.
 */
final class Inputs implements AutoCloseable {
  private static final String RANDOM = "random:";
  private static final String BUFFER = "hardware_buffer/";
  private static final Duration PATIENCE = Duration.ofSeconds(10);

  /** Candidates for a model: one that is loaded, or a file. */
  static final Candidates MODEL = Candidates.of(Kind.MODELS, Kind.FILES);

  static final Candidates FILE = Candidates.of(Kind.FILES);

  private final Invocation invocation;
  private final Optional<float[]> mean;
  private final Optional<float[]> std;
  private final List<HardwareBuffer> buffers = new ArrayList<>();
  private final List<HardwareBuffer.Lock> locks = new ArrayList<>();

  /** Reads {@code --mean} and {@code --std}. */
  Inputs(Invocation invocation) {
    this.invocation = invocation;
    this.mean = invocation.arguments().numbers("mean");
    this.std = invocation.arguments().numbers("std");
    if (mean.isPresent() != std.isPresent()) {
      throw invocation.usage("--mean and --std belong together: fed = (value - mean) / std");
    }
    if (std.isPresent() && IntStream.range(0, std.get().length).anyMatch(i -> std.get()[i] == 0)) {
      throw invocation.usage("--std must not be 0");
    }
  }

  /**
   * Reads the words behind the model's, or random values if there are none, and fits it to them.
   */
  List<Tensor> readOrRandom(OpenModel model) throws NeuralNetworksException {
    List<String> words = invocation.arguments().operands();
    int wanted = model.model().main().inputIndexes().size();
    List<Tensor> values =
        read(
            model.loaded().file(),
            words.size() > 1
                ? words.subList(1, words.size())
                : Collections.nCopies(wanted, RANDOM + 1));
    model.fit(values);
    return values;
  }

  /**
   * Reads one value for each input. The last inputs may be states that are left out, which have
   * their first values.
   *
   * @throws CommandException where there are too many or too few words, a picture's normalization
   *     is not known, or a file cannot be read or does not fit
   */
  List<Tensor> read(ModelFile file, List<String> words) throws NeuralNetworksException {
    Subgraph main = file.model().main();
    int wanted = main.inputIndexes().size();
    int needed = file.neededInputs();
    if (words.size() > wanted || words.size() < needed) {
      String names =
          IntStream.range(0, needed)
              .mapToObj(i -> main.input(i).text())
              .collect(Collectors.joining(", "));
      if (needed < wanted) {
        names += ", and %s that may be left out".formatted(Units.plural(wanted - needed, "state"));
      }
      throw invocation.usage(
          "the model has %s (%s), %s given"
              .formatted(
                  Units.plural(wanted, "input"), names, words.isEmpty() ? "none" : words.size()));
    }
    List<Tensor> values = new ArrayList<>();
    for (int i = words.size(); i < wanted; i++) {
      byte[] first = file.firstValues().get(i).bytes().toArray(ValueLayout.JAVA_BYTE);
      values.add(Tensor.of(main.input(i), first));
    }
    for (int i = 0; i < words.size(); i++) {
      values.add(i, read(words.get(i), main.input(i), file.input(i), file.normalization(i)));
    }
    return values;
  }

  private Tensor read(
      String word, Operand compiled, Operand open, Optional<ModelFile.Normalization> stated)
      throws NeuralNetworksException {
    if (word.startsWith(RANDOM)) {
      return InputFile.random(seed(word), compiled);
    }
    if (word.startsWith(BUFFER)) {
      return frame(word, compiled);
    }
    if (InputFile.accepts(word)) {
      return InputFile.read(invocation.path(word), compiled, open);
    }
    Picture picture = InputFile.picture(invocation.path(word));
    Operand input = picture.sized(compiled, open);
    PictureLayout layout =
        PictureLayout.of(input.shape())
            .orElseThrow(
                () ->
                    new CommandException(
                        word
                            + " is a picture, but "
                            + input.text()
                            + " takes none; give .npy, .bin, .json or random:SEED"));
    if (layout.height() == 0 || layout.width() == 0) {
      throw new CommandException(
          "the model leaves the size of its pictures open ("
              + input.text()
              + "); give the input as .npy");
    }
    Optional<Normalization> normalization =
        mean.isPresent()
            ? Optional.of(Normalization.given(mean.get(), std.get()))
            : Normalization.known(input, stated);
    if (normalization.isEmpty()) {
      throw CommandException.usage(
          "nn:run: the model does not say how "
              + input.text()
              + " was normalized; give --mean M --std S (fed = (value - M) / S)");
    }
    if (!normalization.get().fits(layout.channels())) {
      throw invocation.usage(
          "--mean and --std take one number, or one for each of the "
              + layout.channels()
              + " channels");
    }
    return picture.tensor(input, normalization.get());
  }

  /** The bytes of another process's buffer, where they are. */
  private Tensor frame(String handle, Operand operand) throws NeuralNetworksException {
    HardwareBuffer buffer;
    try {
      buffer = HardwareBuffer.open(HardwareBufferHandle.parse(handle));
      buffers.add(buffer);
      locks.add(
          buffer
              .lock(Access.READ, PATIENCE)
              .orElseThrow(() -> new CommandException("a process keeps writing the buffer")));
    } catch (IllegalArgumentException | SharedMemoryException e) {
      throw new CommandException("the hardware buffer cannot be read: " + e.getMessage());
    }
    return Tensor.of(operand, buffer.memory());
  }

  @Override
  public void close() {
    locks.forEach(HardwareBuffer.Lock::close);
    buffers.forEach(HardwareBuffer::close);
  }

  private long seed(String word) {
    try {
      return Long.parseLong(word.substring(RANDOM.length()));
    } catch (NumberFormatException e) {
      throw invocation.usage("the seed of '" + word + "' is not a whole number of 64 bits");
    }
  }
}
