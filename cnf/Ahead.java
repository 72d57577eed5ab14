// SPDX-License-Identifier: Apache-2.0

import java.io.IOException;
import java.lang.classfile.Attributes;
import java.lang.classfile.ClassBuilder;
import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassModel;
import java.lang.classfile.ClassTransform;
import java.lang.classfile.CodeBuilder;
import java.lang.classfile.Label;
import java.lang.classfile.TypeKind;
import java.lang.classfile.attribute.NestMembersAttribute;
import java.lang.classfile.constantpool.ClassEntry;
import java.lang.classfile.constantpool.PoolEntry;
import java.lang.classfile.instruction.InvokeDynamicInstruction;
import java.lang.constant.ClassDesc;
import java.lang.constant.ConstantDesc;
import java.lang.constant.ConstantDescs;
import java.lang.constant.DirectMethodHandleDesc;
import java.lang.constant.MethodTypeDesc;
import java.lang.reflect.AccessFlag;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Map.Entry;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.stream.Stream;

/**
 * Makes ahead what the JVM would make at each start out of {@code invokedynamic}: classes for
 * lambdas, the tests of a switch over types, and {@code equals} and {@code hashCode} of records. An
 * archive of classes holds the former and cannot hold the latter, which take half a millisecond
 * each. A class that is loaded takes a quarter of a millisecond, so that lambdas of one package
 * share classes. Changes a folder of classes in place; what they refer to is on the class path. The
 * second argument is how many lambdas share a method at most.
 */
final class Ahead {
  private static final ClassDesc SWITCHES = ClassDesc.of("java.lang.runtime.SwitchBootstraps");
  private static final ClassDesc RECORDS = ClassDesc.of("java.lang.runtime.ObjectMethods");
  private static final ClassDesc OBJECTS = ClassDesc.of("java.util.Objects");
  static final String MARK = "$$";
  private static final int OWN =
      ClassFile.ACC_PRIVATE | ClassFile.ACC_STATIC | ClassFile.ACC_SYNTHETIC;

  private final ClassFile format = ClassFile.of(ClassFile.ConstantPoolSharingOption.NEW_POOL);
  private final Path folder;
  private final Map<ClassDesc, ClassModel> models =
      new TreeMap<>(Comparator.comparing(ClassDesc::descriptorString));
  private final SharedLambdas lambdas;

  private Ahead(Path folder, int limit) {
    this.folder = folder;
    lambdas = new SharedLambdas(models, type -> Files.exists(file(type)), limit);
  }

  public static void main(String[] args) throws IOException {
    Path folder = Path.of(args[0]);
    if (Files.isDirectory(folder)) {
      new Ahead(folder, Integer.parseInt(args[1])).run();
    }
  }

  private void run() throws IOException {
    List<Path> files;
    try (Stream<Path> all = Files.walk(folder)) {
      files = all.filter(file -> file.toString().endsWith(".class")).sorted().toList();
    }
    for (Path file : files) {
      if (!isMade(file)) {
        ClassModel model = format.parse(file);
        models.put(model.thisClass().asSymbol(), model);
      }
    }
    deleteStale(files.stream().filter(Ahead::isMade).toList());
    models.values().forEach(lambdas::open);
    for (Entry<ClassDesc, ClassModel> host : models.entrySet()) {
      new Host(host.getValue()).write(file(host.getKey()));
    }
    for (Entry<ClassDesc, byte[]> shared : lambdas.write().entrySet()) {
      Files.write(file(shared.getKey()), shared.getValue());
    }
    for (Entry<ClassDesc, List<ClassDesc>> nest : lambdas.joined().entrySet()) {
      Path host = file(nest.getKey());
      Files.write(host, join(format.parse(host), nest.getValue()));
    }
  }

  private static boolean isMade(Path file) {
    return file.getFileName().toString().contains(MARK);
  }

  /** Deletes what an earlier run made and a compiler has since written the users of anew. */
  private void deleteStale(List<Path> made) throws IOException {
    Set<Path> used = new HashSet<>();
    for (ClassModel model : models.values()) {
      for (PoolEntry entry : model.constantPool()) {
        if (entry instanceof ClassEntry type && type.asSymbol().isClassOrInterface()) {
          used.add(file(type.asSymbol()));
        }
      }
    }
    for (Path file : made) {
      if (!used.contains(file)) {
        Files.delete(file);
      }
    }
  }

  private Path file(ClassDesc type) {
    String descriptor = type.descriptorString();
    return folder.resolve(descriptor.substring(1, descriptor.length() - 1) + ".class");
  }

  private byte[] join(ClassModel host, List<ClassDesc> members) {
    List<ClassDesc> all = new ArrayList<>();
    host.findAttribute(Attributes.nestMembers())
        .ifPresent(now -> now.nestMembers().forEach(member -> all.add(member.asSymbol())));
    all.addAll(members);
    return format.transformClass(
        host,
        ClassTransform.dropping(NestMembersAttribute.class::isInstance)
            .andThen(
                ClassTransform.endHandler(
                    builder -> builder.with(NestMembersAttribute.ofSymbols(all)))));
  }

  /** A class that is rewritten. */
  private final class Host {
    private final ClassModel model;
    private final ClassDesc type;
    private final ClassDesc nest;
    private final List<Consumer<ClassBuilder>> methods = new ArrayList<>();
    private int count;

    Host(ClassModel model) {
      this.model = model;
      type = model.thisClass().asSymbol();
      nest =
          model
              .findAttribute(Attributes.nestHost())
              .map(host -> host.nestHost().asSymbol())
              .orElse(type);
    }

    void write(Path file) throws IOException {
      byte[] bytes =
          format.transformClass(
              model,
              ClassTransform.transformingMethodBodies(
                      (code, element) -> {
                        if (!(element instanceof InvokeDynamicInstruction call
                            && isReplaced(code, call))) {
                          code.with(element);
                        }
                      })
                  .andThen((builder, element) -> lambdas.open(model, builder, element))
                  .andThen(
                      ClassTransform.endHandler(
                          builder -> {
                            methods.forEach(method -> method.accept(builder));
                            lambdas.bridge(model, builder);
                          })));
      if (count > 0 || lambdas.isBridged(model)) {
        Files.write(file, bytes);
      }
    }

    private boolean isReplaced(CodeBuilder code, InvokeDynamicInstruction call) {
      if (SharedLambdas.isLambda(call)) {
        count++;
        lambdas.replace(model, nest, code, call);
        return true;
      }
      DirectMethodHandleDesc bootstrap = call.bootstrapMethod();
      if (bootstrap.owner().equals(SWITCHES) && bootstrap.methodName().equals("typeSwitch")) {
        List<ConstantDesc> labels = call.bootstrapArgs();
        boolean areTypes = labels.stream().allMatch(ClassDesc.class::isInstance);
        if (areTypes) {
          replace(code, call, body -> writeTests(body, labels));
        }
        return areTypes;
      }
      if (bootstrap.owner().equals(RECORDS)) {
        // The first two are the type and the names of the fields, which come next.
        List<DirectMethodHandleDesc> fields =
            call.bootstrapArgs().stream().skip(2).map(DirectMethodHandleDesc.class::cast).toList();
        switch (call.name().stringValue()) {
          case "hashCode" -> replace(code, call, body -> writeHash(body, fields));
          case "equals" -> replace(code, call, body -> writeEquals(body, type, fields));
          default -> {
            return false;
          }
        }
        return true;
      }
      return false;
    }

    /** Calls a method of this class instead. */
    private void replace(
        CodeBuilder code, InvokeDynamicInstruction call, Consumer<CodeBuilder> body) {
      String name = call.name().stringValue() + MARK + count++;
      methods.add(builder -> builder.withMethodBody(name, call.typeSymbol(), OWN, body));
      code.invokestatic(type, name, call.typeSymbol(), model.flags().has(AccessFlag.INTERFACE));
    }
  }

  /** Returns the number of the first type from the second parameter on that the first one has. */
  private static void writeTests(CodeBuilder code, List<ConstantDesc> types) {
    Label isThere = code.newLabel();
    code.aload(0).ifnonnull(isThere).loadConstant(-1).ireturn().labelBinding(isThere);
    for (int i = 0; i < types.size(); i++) {
      Label next = code.newLabel();
      code.iload(1)
          .loadConstant(i)
          .if_icmpgt(next)
          .aload(0)
          .instanceOf((ClassDesc) types.get(i))
          .ifeq(next)
          .loadConstant(i)
          .ireturn()
          .labelBinding(next);
    }
    code.loadConstant(types.size()).ireturn();
  }

  private static void writeHash(CodeBuilder code, List<DirectMethodHandleDesc> fields) {
    code.loadConstant(0);
    for (DirectMethodHandleDesc field : fields) {
      code.loadConstant(31).imul().aload(0);
      ClassDesc type = writeGet(code, field);
      ClassDesc hashed = type.isPrimitive() ? type : ConstantDescs.CD_Object;
      code.invokestatic(
              SharedLambdas.BOXES.getOrDefault(type, OBJECTS),
              "hashCode",
              MethodTypeDesc.of(ConstantDescs.CD_int, hashed))
          .iadd();
    }
    code.ireturn();
  }

  private static void writeEquals(
      CodeBuilder code, ClassDesc record, List<DirectMethodHandleDesc> fields) {
    Label differ = code.newLabel();
    code.aload(1).instanceOf(record).ifeq(differ);
    int other = code.allocateLocal(TypeKind.REFERENCE);
    code.aload(1).checkcast(record).astore(other);
    for (DirectMethodHandleDesc field : fields) {
      code.aload(0);
      ClassDesc type = writeGet(code, field);
      code.aload(other);
      writeGet(code, field);
      if (type.isPrimitive()) {
        code.invokestatic(
                SharedLambdas.BOXES.get(type),
                "compare",
                MethodTypeDesc.of(ConstantDescs.CD_int, type, type))
            .ifne(differ);
      } else {
        code.invokestatic(
                OBJECTS,
                "equals",
                MethodTypeDesc.of(
                    ConstantDescs.CD_boolean, ConstantDescs.CD_Object, ConstantDescs.CD_Object))
            .ifeq(differ);
      }
    }
    code.loadConstant(1).ireturn().labelBinding(differ).loadConstant(0).ireturn();
  }

  /** Reads a field of what is on the stack; returns its type. */
  private static ClassDesc writeGet(CodeBuilder code, DirectMethodHandleDesc field) {
    ClassDesc type = ClassDesc.ofDescriptor(field.lookupDescriptor());
    code.getfield(field.owner(), field.methodName(), type);
    return type;
  }
}
