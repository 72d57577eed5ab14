// SPDX-License-Identifier: Apache-2.0
package io.thalamus.json.read;

import io.thalamus.json.form.ElementText;
import io.thalamus.json.form.Form;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Elements;
import io.thalamus.model.ExtensionOperandType;
import io.thalamus.model.Lifetime;
import io.thalamus.model.Lifetime.ConstantCopy;
import io.thalamus.model.Lifetime.ConstantReference;
import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperandType;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.reader.ModelFormatException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Reads operands. Not thread-safe.
 *
 * @param constants null if there is no other file
 */
record OperandReader(Cursor cursor, SharedMemory constants) {
  private static final Map<String, OperandCode> CODES =
      Arrays.stream(OperandCode.values())
          .collect(Collectors.toMap(OperandCode::text, Function.identity()));

  private static final Map<String, Lifetime> LIFETIMES =
      Stream.of(
              Lifetime.TEMPORARY_VARIABLE,
              Lifetime.SUBGRAPH_INPUT,
              Lifetime.SUBGRAPH_OUTPUT,
              Lifetime.NO_VALUE)
          .collect(Collectors.toMap(Lifetime::text, Function.identity()));

  /** An operand while it is read; null is a name that did not occur. */
  private static final class Draft {
    private String name = "";
    private OperandType type;
    private Shape shape = Shape.NONE;
    private float scale;
    private int zeroPoint;
    private int channelDimension;
    private float[] scales;
    private Lifetime lifetime;
    private List<String> values;
    private byte[] bytes;
    private Long offset;
    private Long length;
    private Integer graph;
  }

  Operand read() throws ModelFormatException {
    Draft draft = new Draft();
    cursor.object(name -> field(draft, name));
    if (draft.type == null) {
      throw cursor.error("an operand has no '" + Form.TYPE + "'");
    }
    Quantization quantization =
        draft.scales == null
            ? Quantization.of(draft.scale, draft.zeroPoint)
            : new Quantization.PerChannel(draft.channelDimension, draft.scales);
    return new Operand(draft.type, draft.shape, quantization, lifetime(draft), draft.name);
  }

  private void field(Draft draft, String name) throws ModelFormatException {
    switch (name) {
      case Form.NAMED -> draft.name = cursor.text();
      case Form.TYPE -> draft.type = type();
      case Form.SHAPE -> draft.shape = Shape.of(cursor.naturals());
      case Form.SCALE -> draft.scale = cursor.real();
      case Form.ZERO_POINT -> draft.zeroPoint = cursor.integer();
      case Form.CHANNEL_DIMENSION -> draft.channelDimension = cursor.natural();
      case Form.SCALES -> draft.scales = scales();
      case Form.LIFETIME -> draft.lifetime = named();
      case Form.VALUES -> draft.values = values();
      case Form.BYTES -> draft.bytes = bytes();
      case Form.OFFSET -> draft.offset = cursor.longInteger();
      case Form.LENGTH -> draft.length = cursor.longInteger();
      case Form.GRAPH -> draft.graph = cursor.natural();
      default -> throw cursor.unknown(name, "an operand");
    }
  }

  private OperandType type() throws ModelFormatException {
    if (cursor.isObject()) {
      ExtensionName name = ExtensionName.read(cursor);
      return name.checked(
          () ->
              new ExtensionOperandType(
                  name.extension(), name.code(), name.name(), name.isTensor(), name.elementSize()));
    }
    String text = cursor.text();
    OperandCode code = CODES.get(text);
    if (code == null) {
      throw cursor.error("NNAPI has no operand type '" + text + "'");
    }
    return code;
  }

  private float[] scales() throws ModelFormatException {
    List<Float> list = new ArrayList<>();
    cursor.array(() -> list.add(cursor.real()));
    float[] scales = new float[list.size()];
    for (int i = 0; i < scales.length; i++) {
      scales[i] = list.get(i);
    }
    return scales;
  }

  private Lifetime named() throws ModelFormatException {
    String text = cursor.text();
    Lifetime lifetime = LIFETIMES.get(text);
    if (lifetime == null) {
      throw cursor.error(
          "unknown lifetime '%s'; there are %s"
              .formatted(text, String.join(", ", LIFETIMES.keySet().stream().sorted().toList())));
    }
    return lifetime;
  }

  private List<String> values() throws ModelFormatException {
    List<String> list = new ArrayList<>();
    cursor.array(
        () -> {
          if (list.size() == Form.MAX_INLINE) {
            throw tooLong();
          }
          list.add(cursor.number());
        });
    return list;
  }

  private byte[] bytes() throws ModelFormatException {
    String text = cursor.text();
    if (text.length() > 2 * Form.MAX_INLINE) {
      throw tooLong();
    }
    try {
      return HexFormat.of().parseHex(text);
    } catch (IllegalArgumentException e) {
      throw cursor.error("'" + Form.BYTES + "' are pairs of hexadecimal digits", e);
    }
  }

  private ModelFormatException tooLong() {
    return cursor.error(
        "constants of more than %s bytes stand in a file of their own".formatted(Form.MAX_INLINE));
  }

  private Lifetime lifetime(Draft draft) throws ModelFormatException {
    long stated =
        Stream.of(draft.lifetime, draft.values, draft.bytes, draft.offset, draft.graph)
            .filter(given -> given != null)
            .count();
    if (stated > 1 || (draft.offset == null) != (draft.length == null)) {
      throw cursor.error(
          "an operand has one of '%s', '%s', '%s', '%s' with '%s', and '%s', or none"
              .formatted(
                  Form.LIFETIME, Form.VALUES, Form.BYTES, Form.OFFSET, Form.LENGTH, Form.GRAPH));
    }
    if (draft.values != null) {
      return new ConstantCopy(decoded(draft));
    }
    if (draft.bytes != null) {
      return new ConstantCopy(draft.bytes);
    }
    if (draft.offset != null) {
      return reference(draft.offset, draft.length);
    }
    if (draft.graph != null) {
      return new Lifetime.SubgraphReference(draft.graph);
    }
    return Optional.ofNullable(draft.lifetime).orElse(Lifetime.TEMPORARY_VARIABLE);
  }

  private byte[] decoded(Draft draft) throws ModelFormatException {
    Optional<Elements> elements = Elements.find(draft.type);
    if (elements.isEmpty()) {
      throw cursor.error(
          "a constant %s needs '%s', not '%s'"
              .formatted(draft.type.text(), Form.BYTES, Form.VALUES));
    }
    try {
      return ElementText.decode(elements.get(), draft.values);
    } catch (NumberFormatException e) {
      throw cursor.error(e.getMessage() + " is no number of " + draft.type.text(), e);
    }
  }

  private Lifetime reference(long offset, long length) throws ModelFormatException {
    if (constants == null) {
      throw cursor.error(
          "a constant has an '%s', but there are no '%s' before it"
              .formatted(Form.OFFSET, Form.CONSTANTS));
    }
    if (offset < 0 || length < 0 || offset > constants.size() - length) {
      throw cursor.error(
          "%s bytes at %s are not in the constants, which have %s"
              .formatted(length, offset, constants.size()));
    }
    return new ConstantReference(constants, offset, length);
  }
}
