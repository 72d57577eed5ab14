// SPDX-License-Identifier: Apache-2.0
package io.thalamus.vectors;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.Optional;

/**
 * A file of examples in the format {@value #FORMAT}. Immutable.
 *
 * @param spec the name of the specification that the examples come from
 * @param specVersion the folder of that specification
 * @param source where the specification was read
 * @param examples in order
 */
public record VectorFile(
    String spec, String specVersion, Optional<Source> source, List<Example> examples) {
  /** The value of the key {@code format}. */
  public static final String FORMAT = "nnapi-vectors-1";

  public VectorFile {
    Objects.requireNonNull(spec, "spec");
    Objects.requireNonNull(specVersion, "specVersion");
    Objects.requireNonNull(source, "source");
    examples = List.copyOf(examples);
  }

  /**
   * Reads a file.
   *
   * @throws IOException where it cannot be read
   * @throws VectorFormatException where it is no JSON or not of this format; names the line
   */
  public static VectorFile read(Path file) throws IOException, VectorFormatException {
    return VectorFileReader.read(file);
  }

  /**
   * Writes a file that reads back as an equal value, replacing what is there. Long arrays that
   * occur again are stored once, and runs of equal values are counted.
   *
   * @throws IOException where it cannot be written
   */
  public void write(Path file) throws IOException {
    VectorFileWriter.write(this, file);
  }

  /** The example with this name. */
  public Optional<Example> example(String name) {
    return examples.stream().filter(example -> example.name().equals(name)).findFirst();
  }

  /** A place in a public repository. */
  public record Source(String repo, String commit, String path) {
    public Source {
      Objects.requireNonNull(repo, "repo");
      Objects.requireNonNull(commit, "commit");
      Objects.requireNonNull(path, "path");
    }
  }
}
