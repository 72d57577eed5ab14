// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.tensor;

import io.thalamus.api.Tensor;
import io.thalamus.console.CommandException;
import io.thalamus.console.Reasons;
import io.thalamus.memory.files.AtomicFiles;
import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;

/**
 * Writes values as they are stored: bare elements ({@code .bin}), NumPy's format ({@code .npy}) or
 * nested arrays ({@code .json}). A file is written beside its place and moved there whole.
 */
public final class OutputFile {
  private OutputFile() {}

  /** Returns true if the ending of a name says how to write. */
  public static boolean accepts(String fileName) {
    return InputFile.accepts(fileName);
  }

  /**
   * Writes a value.
   *
   * @throws CommandException where it cannot be written; what was there before then still is
   */
  public static void write(Path file, Tensor tensor) {
    try {
      write(file, encode(file, tensor));
    } catch (IOException e) {
      throw new CommandException("cannot write " + file + ": " + Reasons.ofWriting(e), e);
    }
  }

  /**
   * Writes text in UTF-8.
   *
   * @throws CommandException where it cannot be written; what was there before then still is
   */
  public static void write(Path file, String text) {
    try {
      write(file, text.getBytes(StandardCharsets.UTF_8));
    } catch (IOException e) {
      throw new CommandException("cannot write " + file + ": " + Reasons.ofWriting(e), e);
    }
  }

  /**
   * Writes bytes beside a file, and moves them in its place.
   *
   * @throws IOException where that fails; what was there before then still is
   */
  public static void write(Path file, byte[] bytes) throws IOException {
    write(file, draft -> Files.write(draft, bytes));
  }

  /**
   * Has something written beside a file, and moves it in its place.
   *
   * @throws IOException where that fails; what was there before then still is
   */
  public static void write(Path file, AtomicFiles.Content content) throws IOException {
    if (Files.exists(file) && !Files.isRegularFile(file)) {
      content.writeTo(file); // a pipe or a device has no place to move to
      return;
    }
    Path target = Files.exists(file) ? file.toRealPath() : file.toAbsolutePath();
    AtomicFiles.replace(target, content);
  }

  private static byte[] encode(Path file, Tensor tensor) throws IOException {
    String name = file.getFileName().toString().toLowerCase(Locale.ROOT);
    if (name.endsWith(".bin")) {
      return tensor.segment().toArray(ValueLayout.JAVA_BYTE);
    }
    if (!tensor.isNumeric()) {
      throw new CommandException(
          "values of type " + tensor.type().text() + " can only be written as .bin");
    }
    return name.endsWith(".npy")
        ? Npy.write(tensor)
        : JsonNumbers.write(tensor).getBytes(StandardCharsets.UTF_8);
  }
}
