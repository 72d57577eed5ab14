// SPDX-License-Identifier: Apache-2.0
package io.thalamus.isolation.wire;

import io.thalamus.memory.MemoryKind;
import io.thalamus.model.CacheNeeds;
import io.thalamus.model.Capabilities;
import io.thalamus.model.DeviceInfo;
import io.thalamus.model.DeviceType;
import io.thalamus.model.FeatureLevel;
import io.thalamus.model.OperandType;
import io.thalamus.model.PerformanceInfo;
import io.thalamus.model.wire.Decoder;
import io.thalamus.model.wire.Encoder;
import io.thalamus.model.wire.GraphCodec;
import io.thalamus.model.wire.WireFormatException;
import java.lang.reflect.Array;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.IntStream;

/** The facts of a device and the properties of its service as bytes. Stateless. */
public final class DeviceCodec {
  /** The types of properties, and of the elements of arrays, by number: all that OSGi names. */
  private static final List<Class<?>> TYPES =
      List.of(
          String.class,
          Boolean.class,
          Byte.class,
          Short.class,
          Character.class,
          Integer.class,
          Long.class,
          Float.class,
          Double.class,
          boolean.class,
          byte.class,
          short.class,
          char.class,
          int.class,
          long.class,
          float.class,
          double.class);

  private static final int ARRAY = TYPES.size();
  private static final int COLLECTION = ARRAY + 1;

  private DeviceCodec() {}

  /** Writes facts. */
  public static void write(Encoder out, DeviceInfo info) {
    out.text(info.name()).text(info.version());
    out.constant(info.type()).constant(info.featureLevel());
    write(out, info.capabilities());
    out.int32(info.cacheNeeds().modelCacheFiles()).int32(info.cacheNeeds().dataCacheFiles());
    out.list(info.memoryKinds().stream().sorted().toList(), Encoder::constant);
    out.bool(info.memoryDomain());
    out.list(info.extensions().stream().sorted().toList(), Encoder::text);
    out.bool(info.exactQuantized()).bool(info.pointerArguments());
    out.bool(info.cacheSharedByPriorities());
  }

  /** Reads facts. */
  public static DeviceInfo info(Decoder in) throws WireFormatException {
    return new DeviceInfo(
        in.text(),
        in.text(),
        in.constant(DeviceType.values()),
        in.constant(FeatureLevel.values()),
        capabilities(in),
        new CacheNeeds(in.int32(), in.int32()),
        new HashSet<>(in.list(from -> from.constant(MemoryKind.values()))),
        in.bool(),
        new HashSet<>(in.list(Decoder::text)),
        in.bool(),
        in.bool(),
        in.bool());
  }

  private static void write(Encoder out, Capabilities capabilities) {
    write(out, capabilities.relaxedFloat32toFloat16Scalar());
    write(out, capabilities.relaxedFloat32toFloat16Tensor());
    out.list(
        List.copyOf(capabilities.operandPerformance().entrySet()),
        (to, entry) -> {
          GraphCodec.writeType(to, entry.getKey());
          write(to, entry.getValue());
        });
    write(out, capabilities.ifPerformance());
    write(out, capabilities.whilePerformance());
  }

  private static Capabilities capabilities(Decoder in) throws WireFormatException {
    PerformanceInfo scalar = performance(in);
    PerformanceInfo tensor = performance(in);
    Map<OperandType, PerformanceInfo> operands = new HashMap<>();
    in.list(from -> operands.put(GraphCodec.type(from), performance(from)));
    return new Capabilities(scalar, tensor, operands, performance(in), performance(in));
  }

  private static void write(Encoder out, PerformanceInfo info) {
    out.float32(info.execTime()).float32(info.powerUsage());
  }

  private static PerformanceInfo performance(Decoder in) throws WireFormatException {
    return new PerformanceInfo(in.float32(), in.float32());
  }

  /** Writes the properties of a service, but those of types that are not for facts. */
  public static void write(Encoder out, Map<String, Object> properties) {
    List<Map.Entry<String, Object>> known =
        properties.entrySet().stream().filter(entry -> isKnown(entry.getValue())).toList();
    out.list(known, (to, entry) -> write(to.text(entry.getKey()), entry.getValue()));
  }

  private static boolean isKnown(Object value) {
    return value instanceof Collection<?> values
        ? values.stream().allMatch(element -> TYPES.contains(element.getClass()))
        : TYPES.contains(value.getClass())
            || value.getClass().isArray() && TYPES.contains(value.getClass().componentType());
  }

  private static void write(Encoder out, Object value) {
    if (value instanceof Collection<?> values) {
      out.int8(COLLECTION).list(List.copyOf(values), DeviceCodec::writeScalar);
    } else if (value.getClass().isArray()) {
      out.int8(ARRAY).int8(TYPES.indexOf(value.getClass().componentType()));
      List<Object> elements =
          IntStream.range(0, Array.getLength(value)).mapToObj(i -> Array.get(value, i)).toList();
      out.list(elements, DeviceCodec::writeScalar);
    } else {
      writeScalar(out, value);
    }
  }

  private static void writeScalar(Encoder out, Object value) {
    out.int8(TYPES.indexOf(value.getClass())).text(value.toString());
  }

  /** Reads the properties of a service. */
  public static Map<String, Object> properties(Decoder in) throws WireFormatException {
    Map<String, Object> properties = new TreeMap<>();
    in.list(from -> properties.put(from.text(), property(from)) == null);
    return properties;
  }

  private static Object property(Decoder in) throws WireFormatException {
    int kind = in.int8();
    if (kind == COLLECTION) {
      return in.list(DeviceCodec::scalar);
    }
    if (kind != ARRAY) {
      return scalar(kind, in);
    }
    Class<?> type = type(in.int8());
    List<Object> elements = in.list(DeviceCodec::scalar);
    Object array = Array.newInstance(type, elements.size());
    for (int i = 0; i < elements.size(); i++) {
      Array.set(array, i, elements.get(i));
    }
    return array;
  }

  private static Object scalar(Decoder in) throws WireFormatException {
    return scalar(in.int8(), in);
  }

  private static Class<?> type(int kind) throws WireFormatException {
    if (kind < 0 || kind >= TYPES.size()) {
      throw WireFormatException.unknown("property", kind);
    }
    return TYPES.get(kind);
  }

  /** Reads a value as its own type writes it: a double is the same, bit for bit. */
  private static Object scalar(int kind, Decoder in) throws WireFormatException {
    String text = in.text();
    return switch (type(kind).getSimpleName()) {
      case "String" -> text;
      case "Boolean" -> Boolean.valueOf(text);
      case "Byte" -> Byte.valueOf(text);
      case "Short" -> Short.valueOf(text);
      case "Character" -> text.charAt(0);
      case "Integer" -> Integer.valueOf(text);
      case "Long" -> Long.valueOf(text);
      case "Float" -> Float.valueOf(text);
      case "Double" -> Double.valueOf(text);
      default -> throw WireFormatException.unknown("property", kind);
    };
  }
}
