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
import java.lang.classfile.attribute.NestHostAttribute;
import java.lang.classfile.attribute.NestMembersAttribute;
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
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Map.Entry;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.stream.Stream;

/**
 * Makes ahead what the JVM would make at each start out of {@code invokedynamic}: a class for each
 * lambda, the tests of a switch over types, and {@code equals} and {@code hashCode} of records. An
 * archive of classes holds the former and cannot hold the latter, which take half a millisecond
 * each. Changes a folder of classes in place; what they refer to is on the class path.
 */
final class Ahead {
  private static final ClassDesc LAMBDAS = ClassDesc.of("java.lang.invoke.LambdaMetafactory");
  private static final ClassDesc SWITCHES = ClassDesc.of("java.lang.runtime.SwitchBootstraps");
  private static final ClassDesc RECORDS = ClassDesc.of("java.lang.runtime.ObjectMethods");
  private static final ClassDesc OBJECTS = ClassDesc.of("java.util.Objects");
  private static final Comparator<ClassDesc> BY_NAME =
      Comparator.comparing(ClassDesc::descriptorString);
  private static final String MARK = "$$";
  private static final String ONLY = "ONLY";
  private static final String MAKE = "make";
  private static final int PRIVATE_FINAL = ClassFile.ACC_PRIVATE | ClassFile.ACC_FINAL;
  private static final int STATIC_FINAL = ClassFile.ACC_STATIC | ClassFile.ACC_FINAL;
  private static final int OWN =
      ClassFile.ACC_PRIVATE | ClassFile.ACC_STATIC | ClassFile.ACC_SYNTHETIC;

  private static final Map<ClassDesc, ClassDesc> BOXES =
      Map.of(
          ConstantDescs.CD_int, ConstantDescs.CD_Integer,
          ConstantDescs.CD_long, ConstantDescs.CD_Long,
          ConstantDescs.CD_float, ConstantDescs.CD_Float,
          ConstantDescs.CD_double, ConstantDescs.CD_Double,
          ConstantDescs.CD_boolean, ConstantDescs.CD_Boolean,
          ConstantDescs.CD_byte, ConstantDescs.CD_Byte,
          ConstantDescs.CD_short, ConstantDescs.CD_Short,
          ConstantDescs.CD_char, ConstantDescs.CD_Character);

  private static final Map<ClassDesc, ClassDesc> UNBOXED = new HashMap<>();

  static {
    BOXES.forEach((plain, box) -> UNBOXED.put(box, plain));
  }

  private final ClassFile format = ClassFile.of(ClassFile.ConstantPoolSharingOption.NEW_POOL);
  private final Path folder;

  /** The new members of each nest by its host. */
  private final Map<ClassDesc, List<ClassDesc>> joined = new TreeMap<>(BY_NAME);

  private Ahead(Path folder) {
    this.folder = folder;
  }

  public static void main(String[] args) throws IOException {
    Path folder = Path.of(args[0]);
    if (Files.isDirectory(folder)) {
      new Ahead(folder).run();
    }
  }

  private void run() throws IOException {
    List<Path> files;
    try (Stream<Path> all = Files.walk(folder)) {
      files = all.filter(file -> file.toString().endsWith(".class")).sorted().toList();
    }
    for (Path file : files) {
      if (!file.getFileName().toString().contains(MARK)) {
        new Host(format.parse(file)).write(file);
      }
    }
    for (Entry<ClassDesc, List<ClassDesc>> nest : joined.entrySet()) {
      Path host = file(nest.getKey());
      Files.write(host, join(format.parse(host), nest.getValue()));
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
    private final Map<ClassDesc, byte[]> lambdas = new TreeMap<>(BY_NAME);
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
                  .andThen(
                      ClassTransform.endHandler(
                          builder -> methods.forEach(method -> method.accept(builder)))));
      if (count == 0) {
        return;
      }
      Files.write(file, bytes);
      for (Entry<ClassDesc, byte[]> lambda : lambdas.entrySet()) {
        Files.write(file(lambda.getKey()), lambda.getValue());
        joined.computeIfAbsent(nest, absent -> new ArrayList<>()).add(lambda.getKey());
      }
    }

    private boolean isReplaced(CodeBuilder code, InvokeDynamicInstruction call) {
      DirectMethodHandleDesc bootstrap = call.bootstrapMethod();
      String method = bootstrap.methodName();
      if (bootstrap.owner().equals(LAMBDAS) && method.equals("metafactory")) {
        replaceLambda(code, call);
        return true;
      }
      if (bootstrap.owner().equals(SWITCHES) && method.equals("typeSwitch")) {
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

    private void replaceLambda(CodeBuilder code, InvokeDynamicInstruction call) {
      ClassDesc lambda = ClassDesc.of(type.packageName(), type.displayName() + MARK + count++);
      lambdas.put(lambda, format.build(lambda, builder -> writeLambda(builder, lambda, call)));
      MethodTypeDesc captures = call.typeSymbol();
      if (captures.parameterCount() == 0) {
        code.getstatic(lambda, ONLY, captures.returnType());
      } else {
        code.invokestatic(lambda, MAKE, captures);
      }
    }

    private void writeLambda(
        ClassBuilder builder, ClassDesc lambda, InvokeDynamicInstruction call) {
      MethodTypeDesc captures = call.typeSymbol();
      MethodTypeDesc constructor = captures.changeReturnType(ConstantDescs.CD_void);
      builder
          .withVersion(model.majorVersion(), 0)
          .withFlags(AccessFlag.FINAL, AccessFlag.SUPER, AccessFlag.SYNTHETIC)
          .withInterfaceSymbols(captures.returnType())
          .with(NestHostAttribute.of(nest));
      for (int i = 0; i < captures.parameterCount(); i++) {
        builder.withField(field(i), captures.parameterType(i), PRIVATE_FINAL);
      }
      builder.withMethodBody(
          ConstantDescs.INIT_NAME,
          constructor,
          ClassFile.ACC_PRIVATE,
          code -> {
            code.aload(0)
                .invokespecial(
                    ConstantDescs.CD_Object, ConstantDescs.INIT_NAME, ConstantDescs.MTD_void);
            for (int i = 0; i < captures.parameterCount(); i++) {
              code.aload(0);
              loadParameter(code, captures, i);
              code.putfield(lambda, field(i), captures.parameterType(i));
            }
            code.return_();
          });
      if (captures.parameterCount() == 0) {
        builder.withField(ONLY, captures.returnType(), STATIC_FINAL);
        builder.withMethodBody(
            ConstantDescs.CLASS_INIT_NAME,
            ConstantDescs.MTD_void,
            ClassFile.ACC_STATIC,
            code -> {
              writeNew(code, lambda, constructor);
              code.putstatic(lambda, ONLY, captures.returnType()).return_();
            });
      } else {
        builder.withMethodBody(
            MAKE,
            captures,
            ClassFile.ACC_STATIC,
            code -> {
              writeNew(code, lambda, constructor);
              code.areturn();
            });
      }
      builder.withMethodBody(
          call.name().stringValue(),
          (MethodTypeDesc) call.bootstrapArgs().get(0),
          ClassFile.ACC_PUBLIC,
          code -> writeCall(code, lambda, call));
    }
  }

  private static String field(int capture) {
    return "captured" + capture;
  }

  private static void loadParameter(CodeBuilder code, MethodTypeDesc type, int parameter) {
    code.loadLocal(TypeKind.from(type.parameterType(parameter)), code.parameterSlot(parameter));
  }

  /** Makes an instance out of all parameters. */
  private static void writeNew(CodeBuilder code, ClassDesc type, MethodTypeDesc constructor) {
    code.new_(type).dup();
    for (int i = 0; i < constructor.parameterCount(); i++) {
      loadParameter(code, constructor, i);
    }
    code.invokespecial(type, ConstantDescs.INIT_NAME, constructor);
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
              BOXES.getOrDefault(type, OBJECTS),
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
                BOXES.get(type), "compare", MethodTypeDesc.of(ConstantDescs.CD_int, type, type))
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

  /** Calls what a lambda stands for with captured values and parameters. */
  private static void writeCall(CodeBuilder code, ClassDesc lambda, InvokeDynamicInstruction call) {
    MethodTypeDesc captures = call.typeSymbol();
    MethodTypeDesc erased = (MethodTypeDesc) call.bootstrapArgs().get(0);
    DirectMethodHandleDesc body = (DirectMethodHandleDesc) call.bootstrapArgs().get(1);
    MethodTypeDesc exact = (MethodTypeDesc) call.bootstrapArgs().get(2);
    MethodTypeDesc type = MethodTypeDesc.ofDescriptor(body.lookupDescriptor());
    List<ClassDesc> wanted = new ArrayList<>(type.parameterList());
    ClassDesc result = type.returnType();
    switch (body.kind()) {
      case CONSTRUCTOR -> {
        code.new_(body.owner()).dup();
        result = body.owner();
      }
      case STATIC, INTERFACE_STATIC -> {
        // It takes parameters alone.
      }
      default -> wanted.addFirst(body.owner());
    }
    for (int i = 0; i < captures.parameterCount(); i++) {
      ClassDesc captured = captures.parameterType(i);
      code.aload(0).getfield(lambda, field(i), captured);
      convert(code, captured, captured, wanted.get(i));
    }
    for (int i = 0; i < erased.parameterCount(); i++) {
      loadParameter(code, erased, i);
      convert(
          code,
          erased.parameterType(i),
          exact.parameterType(i),
          wanted.get(captures.parameterCount() + i));
    }
    String name = body.methodName();
    switch (body.kind()) {
      case CONSTRUCTOR -> code.invokespecial(body.owner(), ConstantDescs.INIT_NAME, type);
      case STATIC -> code.invokestatic(body.owner(), name, type);
      case INTERFACE_STATIC -> code.invokestatic(body.owner(), name, type, true);
      case INTERFACE_VIRTUAL, INTERFACE_SPECIAL -> code.invokeinterface(body.owner(), name, type);
      case VIRTUAL, SPECIAL -> code.invokevirtual(body.owner(), name, type);
      default -> throw new IllegalArgumentException("no method: " + body);
    }
    if (erased.returnType().equals(ConstantDescs.CD_void)) {
      switch (TypeKind.from(result).slotSize()) {
        case 1 -> code.pop();
        case 2 -> code.pop2();
        default -> {
          // Nothing was returned.
        }
      }
    } else {
      convert(code, result, exact.returnType(), erased.returnType());
    }
    code.return_(TypeKind.from(erased.returnType()));
  }

  /**
   * Converts a value as the language does.
   *
   * @param exact what the value is known to be
   */
  private static void convert(CodeBuilder code, ClassDesc from, ClassDesc exact, ClassDesc to) {
    if (from.equals(to)) {
      return;
    }
    if (from.isPrimitive() && to.isPrimitive()) {
      code.conversion(TypeKind.from(from), TypeKind.from(to));
    } else if (from.isPrimitive()) {
      ClassDesc box = BOXES.get(from);
      code.invokestatic(box, "valueOf", MethodTypeDesc.of(box, from));
    } else if (to.isPrimitive()) {
      ClassDesc box =
          Stream.of(exact, from).filter(UNBOXED::containsKey).findFirst().orElse(BOXES.get(to));
      ClassDesc plain = UNBOXED.get(box);
      if (!from.equals(box)) {
        code.checkcast(box);
      }
      code.invokevirtual(box, plain.displayName() + "Value", MethodTypeDesc.of(plain))
          .conversion(TypeKind.from(plain), TypeKind.from(to));
    } else if (!to.equals(ConstantDescs.CD_Object)) {
      code.checkcast(to);
    }
  }
}
