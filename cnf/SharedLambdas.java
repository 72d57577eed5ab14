// SPDX-License-Identifier: Apache-2.0

import java.lang.classfile.AccessFlags;
import java.lang.classfile.ClassBuilder;
import java.lang.classfile.ClassElement;
import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassModel;
import java.lang.classfile.CodeBuilder;
import java.lang.classfile.CodeModel;
import java.lang.classfile.MethodModel;
import java.lang.classfile.TypeKind;
import java.lang.classfile.attribute.NestHostAttribute;
import java.lang.classfile.instruction.InvokeDynamicInstruction;
import java.lang.classfile.instruction.SwitchCase;
import java.lang.constant.ClassDesc;
import java.lang.constant.ConstantDescs;
import java.lang.constant.DirectMethodHandleDesc;
import java.lang.constant.MethodTypeDesc;
import java.lang.reflect.AccessFlag;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Stream;

/**
 * The classes of the lambdas of a folder: lambdas of one package and one interface share them. A
 * class that is loaded takes a quarter of a millisecond. Not thread-safe.
 */
final class SharedLambdas {
  private static final ClassDesc LAMBDAS = ClassDesc.of("java.lang.invoke.LambdaMetafactory");
  private static final String SHARED = "Lambdas" + Ahead.MARK;
  private static final String LAMBDA = "lambda$";
  private static final String ONLY = "ONLY";
  private static final String MAKE = "make";
  private static final int PRIVATE_FINAL = ClassFile.ACC_PRIVATE | ClassFile.ACC_FINAL;
  private static final int STATIC_FINAL = ClassFile.ACC_STATIC | ClassFile.ACC_FINAL;

  static final Map<ClassDesc, ClassDesc> BOXES =
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

  private final ClassFile format = ClassFile.of();
  private final Map<ClassDesc, ClassModel> models;
  private final Predicate<ClassDesc> isTaken;
  private final int limit;
  private final List<Shared> all = new ArrayList<>();
  private final Map<Form, Shared> latest = new HashMap<>();

  /** The private methods that a compiler wrote for lambdas, and that their packages may call. */
  private final Set<Body> opened = new HashSet<>();

  /** How many classes of each package have a number. */
  private final Map<String, Integer> numbers = new HashMap<>();

  /**
   * Starts without any.
   *
   * @param models the classes of the folder
   * @param isTaken whether there is a class of a name
   * @param limit how many lambdas share a class at most
   */
  SharedLambdas(Map<ClassDesc, ClassModel> models, Predicate<ClassDesc> isTaken, int limit) {
    this.models = models;
    this.isTaken = isTaken;
    this.limit = limit;
  }

  /** Finds the methods of a class that are to be visible to its package. */
  void open(ClassModel model) {
    if (model.flags().has(AccessFlag.INTERFACE)) {
      return;
    }
    model.methods().stream()
        .flatMap(method -> method.code().stream())
        .flatMap(CodeModel::elementStream)
        .filter(element -> element instanceof InvokeDynamicInstruction call && isLambda(call))
        .map(call -> Body.of((InvokeDynamicInstruction) call))
        .filter(body -> body.name().startsWith(LAMBDA))
        .forEach(opened::add);
  }

  /** Returns whether an instruction makes a lambda. */
  static boolean isLambda(InvokeDynamicInstruction call) {
    DirectMethodHandleDesc bootstrap = call.bootstrapMethod();
    return bootstrap.owner().equals(LAMBDAS) && bootstrap.methodName().equals("metafactory");
  }

  /** Lets the package call the body of a lambda. */
  void open(ClassModel model, ClassBuilder builder, ClassElement element) {
    if (element instanceof MethodModel method && opened.contains(Body.of(model, method))) {
      builder.withMethod(
          Body.of(model, method).openName(),
          method.methodTypeSymbol(),
          method.flags().flagsMask() & ~ClassFile.ACC_PRIVATE,
          made ->
              method
                  .elementStream()
                  .filter(part -> !(part instanceof AccessFlags))
                  .forEach(made::with));
    } else {
      builder.with(element);
    }
  }

  /** Writes how a lambda is made out of the captured values on the stack. */
  void replace(ClassModel model, ClassDesc nest, CodeBuilder code, InvokeDynamicInstruction call) {
    MethodTypeDesc captures = call.typeSymbol();
    Form form =
        new Form(
            model.thisClass().asSymbol().packageName(),
            isOpen(call) ? Optional.empty() : Optional.of(nest),
            call.name().stringValue(),
            (MethodTypeDesc) call.bootstrapArgs().get(0),
            erased(captures));
    Shared shared = latest.get(form);
    if (shared == null || shared.calls.size() == limit) {
      shared = new Shared(form, model.majorVersion());
      latest.put(form, shared);
      all.add(shared);
    }
    int number = shared.calls.size();
    shared.calls.add(call);
    if (captures.parameterCount() == 0) {
      code.getstatic(shared.type, ONLY + number, captures.returnType());
    } else {
      code.loadConstant(number).invokestatic(shared.type, MAKE, shared.made());
    }
  }

  /** Returns the contents of the classes. */
  Map<ClassDesc, byte[]> write() {
    Map<ClassDesc, byte[]> contents = new LinkedHashMap<>();
    all.forEach(shared -> contents.put(shared.type, format.build(shared.type, shared::write)));
    return contents;
  }

  /** Returns the new members of nests by their hosts. */
  Map<ClassDesc, List<ClassDesc>> joined() {
    Map<ClassDesc, List<ClassDesc>> joined = new LinkedHashMap<>();
    for (Shared shared : all) {
      shared
          .form
          .nest()
          .ifPresent(
              nest -> joined.computeIfAbsent(nest, absent -> new ArrayList<>()).add(shared.type));
    }
    return joined;
  }

  /** Returns whether the whole package may call what a lambda stands for. */
  private boolean isOpen(InvokeDynamicInstruction call) {
    Body body = Body.of(call);
    ClassModel owner = models.get(body.owner());
    return owner == null
        || opened.contains(body)
        || owner.methods().stream()
            .filter(method -> Body.of(owner, method).equals(body))
            .noneMatch(method -> method.flags().has(AccessFlag.PRIVATE));
  }

  /** A method that a lambda stands for. */
  private record Body(ClassDesc owner, String name, String type) {
    static Body of(InvokeDynamicInstruction call) {
      DirectMethodHandleDesc handle = (DirectMethodHandleDesc) call.bootstrapArgs().get(1);
      return new Body(handle.owner(), handle.methodName(), handle.lookupDescriptor());
    }

    static Body of(ClassModel owner, MethodModel method) {
      return new Body(
          owner.thisClass().asSymbol(),
          method.methodName().stringValue(),
          method.methodType().stringValue());
    }

    /** Returns a name that no method of a subclass has, which would override this one. */
    String openName() {
      return name + "$" + owner.displayName();
    }
  }

  /** All references are objects. */
  private static MethodTypeDesc erased(MethodTypeDesc captures) {
    MethodTypeDesc erased = captures;
    for (int i = 0; i < captures.parameterCount(); i++) {
      if (!captures.parameterType(i).isPrimitive()) {
        erased = erased.changeParameterType(i, ConstantDescs.CD_Object);
      }
    }
    return erased;
  }

  /**
   * What lambdas have in common that share a class.
   *
   * @param nest the nest of all of them if one stands for a private method
   * @param method the method of the interface
   * @param erased the type of that method
   * @param captures the types of captured values; returns the interface
   */
  private record Form(
      String packageName,
      Optional<ClassDesc> nest,
      String method,
      MethodTypeDesc erased,
      MethodTypeDesc captures) {}

  /** A class whose instances are lambdas, each with its number. */
  private final class Shared {
    private final Form form;
    private final int version;
    private final ClassDesc type;
    private final List<InvokeDynamicInstruction> calls = new ArrayList<>();

    Shared(Form form, int version) {
      this.form = form;
      this.version = version;
      ClassDesc free;
      do {
        String name = SHARED + numbers.merge(form.packageName(), 1, Integer::sum);
        free = ClassDesc.of(form.packageName(), name);
      } while (isTaken.test(free));
      type = free;
    }

    /** The method that makes an instance out of captured values and its number. */
    MethodTypeDesc made() {
      return form.captures()
          .insertParameterTypes(form.captures().parameterCount(), ConstantDescs.CD_int);
    }

    void write(ClassBuilder builder) {
      MethodTypeDesc made = made();
      MethodTypeDesc constructor = made.changeReturnType(ConstantDescs.CD_void);
      ClassDesc lambda = made.returnType();
      builder
          .withVersion(version, 0)
          .withFlags(AccessFlag.FINAL, AccessFlag.SUPER, AccessFlag.SYNTHETIC)
          .withInterfaceSymbols(lambda);
      form.nest().ifPresent(nest -> builder.with(NestHostAttribute.of(nest)));
      for (int i = 0; i < made.parameterCount(); i++) {
        builder.withField(field(i), made.parameterType(i), PRIVATE_FINAL);
      }
      builder.withMethodBody(
          ConstantDescs.INIT_NAME,
          constructor,
          ClassFile.ACC_PRIVATE,
          code -> {
            code.aload(0)
                .invokespecial(
                    ConstantDescs.CD_Object, ConstantDescs.INIT_NAME, ConstantDescs.MTD_void);
            for (int i = 0; i < made.parameterCount(); i++) {
              code.aload(0);
              loadParameter(code, made, i);
              code.putfield(type, field(i), made.parameterType(i));
            }
            code.return_();
          });
      if (made.parameterCount() == 1) {
        writeConstants(builder, lambda, constructor);
      } else {
        builder.withMethodBody(
            MAKE,
            made,
            ClassFile.ACC_STATIC,
            code -> {
              code.new_(type).dup();
              for (int i = 0; i < made.parameterCount(); i++) {
                loadParameter(code, made, i);
              }
              code.invokespecial(type, ConstantDescs.INIT_NAME, constructor).areturn();
            });
      }
      builder.withMethodBody(form.method(), form.erased(), ClassFile.ACC_PUBLIC, this::writeCalls);
    }

    private void writeConstants(
        ClassBuilder builder, ClassDesc lambda, MethodTypeDesc constructor) {
      for (int i = 0; i < calls.size(); i++) {
        builder.withField(ONLY + i, lambda, STATIC_FINAL);
      }
      builder.withMethodBody(
          ConstantDescs.CLASS_INIT_NAME,
          ConstantDescs.MTD_void,
          ClassFile.ACC_STATIC,
          code -> {
            for (int i = 0; i < calls.size(); i++) {
              code.new_(type)
                  .dup()
                  .loadConstant(i)
                  .invokespecial(type, ConstantDescs.INIT_NAME, constructor)
                  .putstatic(type, ONLY + i, lambda);
            }
            code.return_();
          });
    }

    private void writeCalls(CodeBuilder code) {
      List<SwitchCase> cases = new ArrayList<>();
      for (int i = 0; i < calls.size(); i++) {
        cases.add(SwitchCase.of(i, code.newLabel()));
      }
      if (calls.size() > 1) {
        int number = form.captures().parameterCount();
        code.aload(0)
            .getfield(type, field(number), ConstantDescs.CD_int)
            .tableswitch(cases.getLast().target(), cases);
      }
      for (int i = 0; i < calls.size(); i++) {
        code.labelBinding(cases.get(i).target());
        writeCall(code, this, calls.get(i));
      }
    }
  }

  private static String field(int capture) {
    return "captured" + capture;
  }

  private static void loadParameter(CodeBuilder code, MethodTypeDesc type, int parameter) {
    code.loadLocal(TypeKind.from(type.parameterType(parameter)), code.parameterSlot(parameter));
  }

  /** Calls what a lambda stands for with captured values and parameters. */
  private void writeCall(CodeBuilder code, Shared shared, InvokeDynamicInstruction call) {
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
      ClassDesc stored = shared.form.captures().parameterType(i);
      ClassDesc captured = captures.parameterType(i);
      code.aload(0).getfield(shared.type, field(i), stored);
      convert(code, stored, captured, captured);
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
    Body named = Body.of(call);
    String name = opened.contains(named) ? named.openName() : named.name();
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
