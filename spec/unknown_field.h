// What is said of a name that no field has: the same in every spelling of a spec.
#ifndef DDP_SPEC_UNKNOWN_FIELD_H_
#define DDP_SPEC_UNKNOWN_FIELD_H_

#include <string>

namespace google::protobuf {
class Descriptor;
}  // namespace google::protobuf

namespace ddp {

// "unknown field \"x\"; did you mean \"y\"?"
std::string UnknownField(const google::protobuf::Descriptor& type, const std::string& name);

}  // namespace ddp

#endif  // DDP_SPEC_UNKNOWN_FIELD_H_
