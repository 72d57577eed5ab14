// SPDX-License-Identifier: Apache-2.0
package io.thalamus.json.read;

import io.thalamus.json.form.Form;
import io.thalamus.memory.SharedMemory;
import io.thalamus.memory.files.Digests;
import io.thalamus.model.Lifetime;
import io.thalamus.model.Model;
import io.thalamus.model.Operand;
import io.thalamus.model.Subgraph;
import io.thalamus.model.reader.Companions;
import io.thalamus.model.reader.ModelFile;
import io.thalamus.model.reader.ModelFile.Normalization;
import io.thalamus.model.reader.ModelFormatException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;

/** Reads one file. Not thread-safe. */
final class FileReader {
  private final Cursor cursor;
  private final Companions companions;
  private final List<String> labels = new ArrayList<>();
  private final Map<Integer, Normalization> normalizations = new HashMap<>();
  private final Map<Integer, Operand> firstValues = new HashMap<>();
  private final List<Subgraph> graphs = new ArrayList<>();
  private boolean isKnown;
  private boolean relaxed;
  private String description = "";

  /** Null until the text names it. */
  private SharedMemory constants;

  FileReader(Cursor cursor, Companions companions) {
    this.cursor = cursor;
    this.companions = companions;
  }

  /** Reads the model, which is not yet validated. */
  ModelFile read() throws ModelFormatException {
    cursor.document(this::field);
    if (graphs.isEmpty()) {
      throw new ModelFormatException("it has no graph");
    }
    Model model = new Model(graphs.getFirst(), graphs.subList(1, graphs.size()), relaxed);
    for (int input : normalizations.keySet()) {
      if (input >= model.main().inputIndexes().size()) {
        throw new ModelFormatException(
            "it normalizes input %s, but there are %s"
                .formatted(input, model.main().inputIndexes().size()));
      }
    }
    return new ModelFile(model, Form.NAME, description, normalizations, labels);
  }

  private void field(String name) throws ModelFormatException {
    if (!isKnown && !name.equals(Form.MARK)) {
      throw cursor.error("'" + Form.MARK + "' must come first, not '" + name + "'");
    }
    switch (name) {
      case Form.MARK -> version();
      case Form.DESCRIPTION -> description = cursor.text();
      case Form.RELAXED -> relaxed = cursor.truth();
      case Form.LABELS -> cursor.array(() -> labels.add(cursor.text()));
      case Form.NORMALIZATIONS -> cursor.array(this::normalization);
      case Form.FIRST_VALUES -> cursor.array(this::firstValue);
      case Form.CONSTANTS -> constants();
      case Form.GRAPHS -> cursor.array(this::graph);
      default -> throw cursor.unknown(name, "the file");
    }
  }

  private void version() throws ModelFormatException {
    int version = cursor.integer();
    if (version < 1 || version > Form.VERSION) {
      throw cursor.error(
          "it is of version %s of the format, and versions up to %s are known"
              .formatted(version, Form.VERSION));
    }
    isKnown = true;
  }

  /** A normalization while it is read. */
  private static final class Draft {
    private int input = -1;
    private float mean;
    private float std = 1;
  }

  private void normalization() throws ModelFormatException {
    Draft draft = new Draft();
    cursor.object(
        name -> {
          switch (name) {
            case Form.INPUT -> draft.input = cursor.natural();
            case Form.MEAN -> draft.mean = cursor.real();
            case Form.STD -> draft.std = cursor.real();
            default -> throw cursor.unknown(name, "a normalization");
          }
        });
    if (draft.input < 0) {
      throw cursor.error("a normalization has no '" + Form.INPUT + "'");
    }
    normalizations.put(draft.input, new Normalization(draft.mean, draft.std));
  }

  private void firstValue() throws ModelFormatException {
    List<Integer> inputs = new ArrayList<>();
    List<Operand> values = new ArrayList<>();
    cursor.object(
        name -> {
          switch (name) {
            case Form.INPUT -> inputs.add(cursor.natural());
            case Form.VALUE -> values.add(new OperandReader(cursor, constants).read());
            default -> throw cursor.unknown(name, "a first value");
          }
        });
    if (inputs.size() != 1 || values.size() != 1) {
      throw cursor.error(
          "a first value has one '%s' and one '%s'".formatted(Form.INPUT, Form.VALUE));
    }
    firstValues.put(inputs.getFirst(), values.getFirst());
  }

  /** Adds the first values to the model that was read, once it is validated. */
  ModelFile withFirstValues(ModelFile file) throws ModelFormatException {
    Subgraph main = file.model().main();
    Map<Integer, Lifetime.Constant> checked = new HashMap<>();
    for (Map.Entry<Integer, Operand> entry : firstValues.entrySet()) {
      int input = entry.getKey();
      if (input >= main.inputIndexes().size()
          || !(entry.getValue().lifetime() instanceof Lifetime.Constant value)
          || !main.input(input).isSizeKnown()
          || main.input(input).byteSize() != value.bytes().byteSize()) {
        throw new ModelFormatException("the first value of input %s fits none".formatted(input));
      }
      checked.put(input, value);
    }
    return file.withFirstValues(checked);
  }

  /** The file of constants while its entry is read. */
  private static final class Other {
    private String file = "";
    private String sha256 = "";
    private long size = -1;
  }

  private void constants() throws ModelFormatException {
    if (!graphs.isEmpty()) {
      throw cursor.error("'" + Form.CONSTANTS + "' must come before '" + Form.GRAPHS + "'");
    }
    Other other = new Other();
    cursor.object(
        name -> {
          switch (name) {
            case Form.FILE -> other.file = cursor.text();
            case Form.SHA256 -> other.sha256 = cursor.text();
            case Form.SIZE -> other.size = cursor.longInteger();
            default -> throw cursor.unknown(name, "'" + Form.CONSTANTS + "'");
          }
        });
    SharedMemory opened = companions.open(other.file);
    boolean isSame =
        opened.size() == other.size
            && HexFormat.of()
                .formatHex(Digests.sha256(opened.segment()))
                .equalsIgnoreCase(other.sha256);
    if (!isSame) {
      throw cursor.error("the file '" + other.file + "' is not the one that was written with it");
    }
    constants = opened;
  }

  private void graph() throws ModelFormatException {
    if (graphs.size() == Form.MAX_GRAPHS) {
      throw cursor.error("it has more than " + Form.MAX_GRAPHS + " graphs");
    }
    graphs.add(new GraphReader(cursor, constants).read());
  }
}
