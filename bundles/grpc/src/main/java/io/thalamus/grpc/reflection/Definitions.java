// SPDX-License-Identifier: Apache-2.0
package io.thalamus.grpc.reflection;

import io.thalamus.grpc.wire.MessageWriter;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Reads definitions in the language of Protocol Buffers 3, as far as ours use it, and writes the
 * message {@code google.protobuf.FileDescriptorProto} of them. Of one thread.
 */
final class Definitions {
  private static final Pattern TOKEN =
      Pattern.compile("//[^\n]*|\"[^\"]*\"|[A-Za-z_][\\w.]*|\\d+|[{}()<>=;,]");

  private static final int OPTIONAL = 1;
  private static final int REPEATED = 3;
  private static final int MESSAGE = 11;
  private static final int ENUM = 14;

  /** The numbers of {@code FieldDescriptorProto.Type}. */
  private static final Map<String, Integer> SCALARS =
      Map.of(
          "double", 1, "float", 2, "int64", 3, "uint64", 4, "int32", 5, "bool", 8, "string", 9,
          "bytes", 12, "uint32", 13);

  private final List<String> tokens = new ArrayList<>();

  /** Messages and enumerations by their full names, with the number of their kind. */
  private final Map<String, Integer> types = new HashMap<>();

  private final Set<String> symbols = new LinkedHashSet<>();
  private final List<String> services = new ArrayList<>();
  private int next;

  private Definitions(String text) {
    Matcher matcher = TOKEN.matcher(text);
    while (matcher.find()) {
      if (!matcher.group().startsWith("//")) {
        tokens.add(matcher.group());
      }
    }
  }

  /**
   * A file as reflection gives it. Immutable.
   *
   * @param symbols the full names of its services, calls, messages and enumerations
   * @param services the full names of its services, in order
   */
  record File(byte[] descriptor, Set<String> symbols, List<String> services) {
    File {
      symbols = Set.copyOf(symbols);
      services = List.copyOf(services);
    }
  }

  /**
   * Reads a file.
   *
   * @throws IllegalArgumentException if it says what is not read here
   */
  static File read(String name, String text) {
    Definitions definitions = new Definitions(text);
    byte[] descriptor = definitions.file(name).toBytes();
    return new File(descriptor, definitions.symbols, definitions.services);
  }

  private String take() {
    return tokens.get(next++);
  }

  private void expect(String token) {
    String found = take();
    if (!found.equals(token)) {
      throw new IllegalArgumentException("'" + found + "': expected '" + token + "'");
    }
  }

  private boolean takes(String token) {
    boolean isNext = tokens.get(next).equals(token);
    next += isNext ? 1 : 0;
    return isNext;
  }

  private MessageWriter file(String name) {
    MessageWriter file = new MessageWriter().text(1, name);
    expect("syntax");
    expect("=");
    expect("\"proto3\"");
    expect(";");
    expect("package");
    String scope = take();
    expect(";");
    collectTypes(scope);
    file.text(2, scope);
    while (next < tokens.size()) {
      String kind = take();
      switch (kind) {
        case "message" -> file.message(4, message(scope));
        case "enum" -> file.message(5, enumeration(scope));
        case "service" -> file.message(6, service(scope));
        default -> throw new IllegalArgumentException("'" + kind + "' in a file");
      }
    }
    return file.text(12, "proto3");
  }

  /** Notes all types, which may be used before they are defined. */
  private void collectTypes(String scope) {
    Deque<String> open = new ArrayDeque<>(List.of(scope));
    for (int i = next; i < tokens.size(); i++) {
      if (tokens.get(i).equals("{")) {
        String kind = tokens.get(i - 2);
        open.push(open.peek() + "." + tokens.get(i - 1));
        if (kind.equals("message") || kind.equals("enum")) {
          types.put(open.peek(), kind.equals("enum") ? ENUM : MESSAGE);
        }
      } else if (tokens.get(i).equals("}")) {
        open.pop();
      }
    }
    symbols.addAll(types.keySet());
  }

  /** Returns the full name of a type, which is looked for from the innermost scope outwards. */
  private String resolve(String scope, String name) {
    String within = scope;
    while (!types.containsKey(within + "." + name)) {
      int dot = within.lastIndexOf('.');
      if (dot < 0) {
        throw new IllegalArgumentException("there is no type " + name + " in " + scope);
      }
      within = within.substring(0, dot);
    }
    return within + "." + name;
  }

  private MessageWriter message(String scope) {
    String name = take();
    String full = scope + "." + name;
    MessageWriter message = new MessageWriter().text(1, name);
    int oneofs = 0;
    expect("{");
    while (!takes("}")) {
      if (takes("message")) {
        message.message(3, message(full));
      } else if (takes("enum")) {
        message.message(4, enumeration(full));
      } else if (takes("oneof")) {
        message.message(8, new MessageWriter().text(1, take()));
        expect("{");
        while (!takes("}")) {
          message.message(2, field(full, take(), OPTIONAL).present(9, oneofs));
        }
        oneofs++;
      } else if (takes("map")) {
        map(full, message);
      } else if (takes("repeated")) {
        message.message(2, field(full, take(), REPEATED));
      } else {
        message.message(2, field(full, take(), OPTIONAL));
      }
    }
    return message;
  }

  private MessageWriter field(String scope, String type, int label) {
    String name = take();
    expect("=");
    MessageWriter field = field(scope, name, Integer.parseInt(take()), type, label);
    expect(";");
    return field;
  }

  private MessageWriter field(String scope, String name, int number, String type, int label) {
    MessageWriter field = new MessageWriter().text(1, name).integer(3, number).integer(4, label);
    Integer scalar = SCALARS.get(type);
    if (scalar != null) {
      return field.integer(5, scalar);
    }
    String full = resolve(scope, type);
    return field.integer(5, types.get(full)).text(6, "." + full);
  }

  /** Adds a map: a repeated message of keys and values. */
  private void map(String scope, MessageWriter message) {
    expect("<");
    String key = take();
    expect(",");
    String value = take();
    expect(">");
    String name = tokens.get(next);
    StringBuilder entry = new StringBuilder();
    for (String word : name.split("_")) {
      entry.append(Character.toUpperCase(word.charAt(0))).append(word, 1, word.length());
    }
    entry.append("Entry");
    types.put(scope + "." + entry, MESSAGE);
    message.message(2, field(scope, entry.toString(), REPEATED));
    message.message(
        3,
        new MessageWriter()
            .text(1, entry.toString())
            .message(2, field(scope, "key", 1, key, OPTIONAL))
            .message(2, field(scope, "value", 2, value, OPTIONAL))
            .message(7, new MessageWriter().flag(7, true)));
  }

  private MessageWriter enumeration(String scope) {
    MessageWriter enumeration = new MessageWriter().text(1, take());
    expect("{");
    while (!takes("}")) {
      String name = take();
      expect("=");
      enumeration.message(
          2, new MessageWriter().text(1, name).present(2, Integer.parseInt(take())));
      expect(";");
    }
    return enumeration;
  }

  private MessageWriter service(String scope) {
    String name = take();
    String full = scope + "." + name;
    symbols.add(full);
    services.add(full);
    MessageWriter service = new MessageWriter().text(1, name);
    expect("{");
    while (!takes("}")) {
      expect("rpc");
      String call = take();
      symbols.add(full + "." + call);
      expect("(");
      boolean isFromMany = takes("stream");
      MessageWriter method =
          new MessageWriter().text(1, call).text(2, "." + resolve(scope, take()));
      expect(")");
      expect("returns");
      expect("(");
      boolean isToMany = takes("stream");
      method.text(3, "." + resolve(scope, take())).flag(5, isFromMany).flag(6, isToMany);
      expect(")");
      expect(";");
      service.message(2, method);
    }
    return service;
  }
}
